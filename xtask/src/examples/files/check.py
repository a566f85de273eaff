import sqlite3
db = sqlite3.connect("app.db")
assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
