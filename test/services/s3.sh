# An S3-compatible object store: moto, in memory. It does not check signatures; a server that does is used instead when
# FLIGHTLOG_TEST_S3_URL names it, with FLIGHTLOG_TEST_S3_SIGNATURES=1.
VERSION='moto 5.2.5'
VARIABLE=FLIGHTLOG_TEST_S3_URL
READY_SECONDS=60

install() {
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'moto[server]==5.2.5'
}

start() { exec "$folder/venv/bin/moto_server" -H 127.0.0.1 -p "$(port)"; }

is_ready() { curl -sf -o /dev/null -m 2 "http://127.0.0.1:$(port)/moto-api/"; }

variables() {
  echo "export FLIGHTLOG_TEST_S3_URL='s3://flightlog-test?endpoint=http://127.0.0.1:$(port)&region=us-east-1'"
  echo 'export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test'
}
