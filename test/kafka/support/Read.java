import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.Utils;

/** Prints all that a topic holds: a line for each record, as Java's own client reads it. Arguments: broker, topic. */
class Read {
  public static void main(String[] args) {
    Map<String, Object> settings = new HashMap<>();
    settings.put("bootstrap.servers", args[0]);
    settings.put("check.crcs", true);
    var bytes = new ByteArrayDeserializer();
    try (var consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
      List<TopicPartition> partitions = consumer.partitionsFor(args[1]).stream()
          .map(info -> new TopicPartition(info.topic(), info.partition())).toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      while (ends.entrySet().stream().anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
          // Where Java's producer would have put the key.
          int usual = Utils.toPositive(Utils.murmur2(record.key())) % partitions.size();
          System.out.println(String.join("\t", "" + record.partition(), "" + usual, text(record.key()),
              text(record.headers().lastHeader("content-type").value()), text(record.value())));
        }
      }
    }
  }

  static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
