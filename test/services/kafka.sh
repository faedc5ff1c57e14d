# Apache Kafka, one broker that is its own controller, and the Python client confluent-kafka, with which tests read
# topics independently of flightlog. The broker runs on Java, and Maven downloads it. Each start begins with empty data,
# because its ports are new, and a broker must keep the ports that its data names.
VERSION='Apache Kafka 3.9.2, confluent-kafka 2.16.1'
VARIABLE=FLIGHTLOG_TEST_KAFKA
READY_SECONDS=300

install() {
  if ! { command -v java && command -v mvn; } >/dev/null && command -v apt-get >/dev/null; then
    apt-get update -qq && apt-get install -y -qq --no-install-recommends default-jre-headless maven
  fi
  cp "$here/kafka-pom.xml" "$folder/pom.xml"
  mvn -q -B -f "$folder/pom.xml" dependency:copy-dependencies -DoutputDirectory="$folder/libs" -DincludeScope=runtime
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'confluent-kafka==2.16.1'
}

start() {
  free_port >"$folder/controller-port"
  free_port >"$folder/sasl-port"
  rm -rf "$folder/broker"
  exec "$here/kafka-broker" "$folder/libs" "$folder/broker" "$(port)" "$(<"$folder/controller-port")" "$(<"$folder/sasl-port")"
}

# The broker creates internal topics at the first group and the first transaction, which takes a moment.
is_ready() {
  grep -q "Kafka Server started" "$folder/log" &&
    "$folder/venv/bin/python" "$here/kafka-warm-up.py" "127.0.0.1:$(port)" >"$folder/warm-up.log" 2>&1
}

variables() {
  echo "export FLIGHTLOG_TEST_KAFKA=127.0.0.1:$(port) FLIGHTLOG_TEST_KAFKA_SASL=127.0.0.1:$(<"$folder/sasl-port")"
  echo "export FLIGHTLOG_TEST_KAFKA_LIBS='$folder/libs' FLIGHTLOG_TEST_KAFKA_PYTHON='$folder/venv/bin/python'"
}
