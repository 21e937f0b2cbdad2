-- Calls from Kafka: set the brokers and, where they ask for it, kafka_security_protocol and kafka_sasl_*.
-- ClickHouse moves on in the topic after an insert, so what it repeats after a crash is the same event.
create table if not exists tallygate.kafka (json String) engine = Kafka
settings kafka_broker_list = 'kafka:9092', kafka_topic_list = 'tallygate.calls', kafka_group_name = 'clickhouse',
  kafka_format = 'JSONAsString', kafka_num_consumers = 1;

create materialized view if not exists tallygate.events_of_kafka to tallygate.events as
select json from tallygate.kafka;
