# host: Ruby
# tried: Ruby 3.1.7, sqlite3 1.4.2
# install: download the library; `gem install sqlite3`
# load: db.load_extension("./libsqlite_ltr")
# note: Does not wait for locks: set `busy_timeout = 5000`.
# note: Tested with Debian's gem.

require "sqlite3"

db = SQLite3::Database.new("shop.db")
db.busy_timeout = 5000
db.enable_load_extension(true)
db.load_extension("./libsqlite_ltr")
db.enable_load_extension(false)
db.execute_batch(File.read("hotels.sql"))

puts db.get_first_value("SELECT ltr_train('q_svm', 'judgments') ->> 'warnings'")

ranking = <<~SQL
  SELECT rank, doc_id, printf('%.2f', score)
    FROM ltr_rank('q_svm', 'candidates') WHERE query_id = ? ORDER BY rank LIMIT 3
SQL
db.execute(ranking, [90]) { |row| puts row.join(" ") }
