<?php
// The same database through both of PHP's extensions, and a backup.
$d = new SQLite3('p.db');
echo $d->querySingle("pragma journal_mode=$argv[1]"), "\n";
$d->exec('create table t(id integer primary key, x)');
for ($i = 0; $i < 60; $i++) {
    $s = $d->prepare('insert into t(x) values(:x)');
    $s->bindValue(':x', "v$i");
    $s->execute();
}
$p = new PDO('sqlite:p.db');
$p->beginTransaction();
$p->exec("update t set x = x || 'q'");
$p->commit();
echo $d->querySingle('select max(x) from t'), "\n";
$b = new SQLite3('copy.db');
$d->backup($b);
echo $b->querySingle('select count(*) from t'), "\n";
