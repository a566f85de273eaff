# Autocommit, a rollback, a commit and a backup through DBI.
use DBI;
my $d = DBI->connect("dbi:SQLite:dbname=p.db", "", "", {RaiseError => 1, AutoCommit => 1});
print $d->selectrow_array("pragma journal_mode=$ARGV[0]"), "\n";
$d->do("create table t(id integer primary key, x text)");
my $s = $d->prepare("insert into t(x) values(?)");
$s->execute("v$_") for 1..50;
$d->begin_work; $s->execute("w$_") for 1..50; $d->rollback;
$d->begin_work; $s->execute("z$_") for 1..50; $d->commit;
print join(",", $d->selectrow_array("select count(*), max(x) from t")), "\n";
$d->sqlite_backup_to_file("copy.db");
my $e = DBI->connect("dbi:SQLite:dbname=copy.db");
print $e->selectrow_array("select count(*) from t"), "\n";
