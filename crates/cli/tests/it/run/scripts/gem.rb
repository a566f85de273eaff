# Autocommit, a commit, a rollback and a backup through Ruby's gem.
require 'sqlite3'
d = SQLite3::Database.new 'p.db'
p d.execute("pragma journal_mode=#{ARGV[0]}")
d.execute 'create table t(id integer primary key, x)'
60.times { |i| d.execute 'insert into t(x) values(?)', ["v#{i}"] }
d.transaction { d.execute "update t set x = x || 'r'" }
begin
  d.transaction { d.execute 'delete from t'; raise 'no' }
rescue => e
  p e.message
end
p d.execute('select count(*), max(x) from t')
c = SQLite3::Database.new 'copy.db'
b = SQLite3::Backup.new(c, 'main', d, 'main')
b.step(-1)
b.finish
p c.execute('select count(*) from t')
