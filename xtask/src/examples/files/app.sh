#!/bin/sh
exec sqlite3 app.db "CREATE TABLE IF NOT EXISTS t(x); INSERT INTO t VALUES(1);"
