import sqlite3
db = sqlite3.connect("app.db")
db.execute("CREATE TABLE IF NOT EXISTS readings(id INTEGER PRIMARY KEY, sensor INTEGER, value REAL)")
db.execute("CREATE INDEX IF NOT EXISTS by_sensor ON readings(sensor)")
for number in range(40):
    with db:
        db.execute("INSERT INTO readings(sensor, value) VALUES(?, ?)", (number % 5, number / 7))
db.close()
