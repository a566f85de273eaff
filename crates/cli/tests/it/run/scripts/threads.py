# Threads, processes and a fork on one database, and what the module has besides statements.
import multiprocessing, os, sqlite3, sys, threading
c = sqlite3.connect('p.db', timeout=60)
print(c.execute('pragma journal_mode=' + sys.argv[1]).fetchone())
c.execute('create table t(id integer primary key, w int, x text)')
c.commit()
def work(w, n=20):
    level = 'IMMEDIATE' if w % 2 else 'DEFERRED'
    d = sqlite3.connect('p.db', timeout=60, isolation_level=level)
    for i in range(n):
        with d:
            d.execute('insert into t(w, x) values(?, ?)', (w, 'x' * i))
    d.close()
def together(all):
    [one.start() for one in all]
    [one.join() for one in all]
together([threading.Thread(target=work, args=(w,)) for w in range(4)])
together([multiprocessing.Process(target=work, args=(w,)) for w in (10, 11)])
print(c.execute('select w, count(*), sum(length(x)) from t group by w').fetchall())
pid = os.fork()
if pid == 0:
    e = sqlite3.connect('p.db', timeout=60)
    e.execute('insert into t(w) values(99)')
    e.commit()
    os._exit(0)
os.waitpid(pid, 0)
print(c.execute('select count(*) from t where w = 99').fetchone())
b = sqlite3.connect('copy.db')
c.backup(b, pages=3)
print(b.execute('select count(*) from t').fetchone(), len(list(c.iterdump())))
s = sqlite3.connect('p.db', timeout=0.1)
s.execute('begin exclusive')
try:
    sqlite3.connect('p.db', timeout=0.1).execute('begin immediate')
except sqlite3.OperationalError as error:
    print(error)
s.rollback()
r = sqlite3.connect('file:p.db?mode=ro', uri=True)
for name, statement in [('p.db?mode=ro', 'insert into t(w) values(1)'), ('no.db?mode=rw', '')]:
    try:
        sqlite3.connect('file:' + name, uri=True).execute(statement)
    except sqlite3.OperationalError as error:
        print(error)
shared = [sqlite3.connect('file:p.db?cache=shared', uri=True) for _ in range(2)]
shared[0].execute('insert into t(w) values(7)')
shared[0].commit()
print(shared[1].execute('select count(*) from t where w = 7').fetchone())
print(c.execute('pragma integrity_check').fetchone())
