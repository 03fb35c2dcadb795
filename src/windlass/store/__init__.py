"""PostgreSQL, the truth: connections, migrations, and one statement a file in sql/."""
