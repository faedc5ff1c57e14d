# A server of the MongoDB protocol: SecantusDB, a stand-in for MongoDB as a replica set of one. It scans all documents
# of a scope before it answers, so its speed and the query costs that it reports are not those of MongoDB. A real server
# is used instead when FLIGHTLOG_TEST_MONGO_URL names it, with FLIGHTLOG_TEST_MONGO_EXPLAINS=1. The stand-in is a
# separate process, and no part of the product.
VERSION='MongoDB protocol: SecantusDB 0.7.0b3, a stand-in'
VARIABLE=FLIGHTLOG_TEST_MONGO_URL
READY_SECONDS=30

install() {
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check --pre 'secantusdb==0.7.0b3'
}

start() {
  rm -rf "$folder/data" && mkdir "$folder/data"
  exec "$folder/venv/bin/secantusd-py" --host 127.0.0.1 --port "$(port)" --storage-path "$folder/data" \
    --cache-size 256M --log-level WARNING --enable-test-commands
}

is_ready() (
  cd "$here" # Node finds the driver in node_modules above this folder
  node --input-type=module -e "
    import { MongoClient } from 'mongodb';
    const client = new MongoClient('mongodb://127.0.0.1:$(port)/?replicaSet=secantus', { serverSelectionTimeoutMS: 1000 });
    await client.db('admin').command({ ping: 1 }).finally(() => client.close());
  " 2>/dev/null
)

variables() {
  echo "export FLIGHTLOG_TEST_MONGO_URL='mongodb://127.0.0.1:$(port)/?replicaSet=secantus'"
}
