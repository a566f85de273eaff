.bail on
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c BLOB);
.mode csv
.import rows.csv imported
.mode list
INSERT INTO t(b, c) SELECT 'row ' || value, zeroblob(value * 7) FROM generate_series(1, 400);
CREATE VIRTUAL TABLE f USING fts5(x);
INSERT INTO f SELECT b FROM t;
SELECT count(*) FROM f WHERE f MATCH 'row';
CREATE VIRTUAL TABLE r USING rtree(id, x0, x1, y0, y1);
INSERT INTO r SELECT a, a, a + 1, a, a + 2 FROM t;
SELECT count(*) FROM r WHERE x0 > 100 AND y1 < 300;
INSERT INTO t(b, c) VALUES('big', zeroblob(1000000));
SELECT length(c) FROM t WHERE b = 'big';
CREATE TEMP TABLE tt AS SELECT * FROM t WHERE a < 100;
SELECT count(*) FROM tt;
ATTACH 'other.db' AS o;
CREATE TABLE o.x(y);
BEGIN; INSERT INTO o.x SELECT a FROM t; DELETE FROM t WHERE a % 3 = 0; COMMIT;
BEGIN; INSERT INTO o.x SELECT a FROM t; DELETE FROM t WHERE a % 5 = 0; ROLLBACK;
SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM o.x);
.backup main copy.db
VACUUM INTO 'into.db';
DETACH o;
.open copy.db
SELECT count(*), sum(length(c)) FROM t;
.open into.db
SELECT count(*), sum(length(c)) FROM t;
.open main.db
PRAGMA page_size=8192;
PRAGMA auto_vacuum=1;
VACUUM;
PRAGMA page_size; PRAGMA page_count; PRAGMA auto_vacuum;
DELETE FROM t WHERE a > 50;
PRAGMA page_count;
PRAGMA mmap_size=1000000;
SELECT count(*) FROM t;
PRAGMA locking_mode=EXCLUSIVE;
UPDATE t SET b = b || 'y';
PRAGMA locking_mode=NORMAL;
SELECT count(*), max(b) FROM t;
PRAGMA journal_mode=TRUNCATE;
INSERT INTO t(b) VALUES('t1'); INSERT INTO t(b) VALUES('t2');
PRAGMA journal_mode=PERSIST;
INSERT INTO t(b) VALUES('p1'); INSERT INTO t(b) VALUES('p2');
PRAGMA journal_mode=MEMORY;
INSERT INTO t(b) VALUES('m');
PRAGMA journal_mode=OFF;
INSERT INTO t(b) VALUES('o');
PRAGMA journal_mode=DELETE;
PRAGMA auto_vacuum=2; VACUUM;
DELETE FROM t WHERE a % 2;
PRAGMA incremental_vacuum(10);
PRAGMA page_count;
SAVEPOINT s; DELETE FROM t; ROLLBACK TO s; RELEASE s;
.dump t
.sha3sum
PRAGMA integrity_check;
