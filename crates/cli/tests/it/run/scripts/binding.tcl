# Autocommit, a commit, a rollback and a backup through Tcl's binding.
package require sqlite3
sqlite3 db p.db
puts [db eval "pragma journal_mode=[lindex $argv 0]"]
db eval {create table t(id integer primary key, x)}
for {set i 0} {$i < 60} {incr i} {db eval {insert into t(x) values($i)}}
db transaction {db eval {update t set x = x + 1}}
catch {db transaction {db eval {delete from t}; error no}}
puts [db eval {select count(*), sum(x) from t}]
db backup copy.db
sqlite3 copy copy.db
puts [copy eval {select count(*) from t}]
