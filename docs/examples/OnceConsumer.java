import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Handles each event once, however often it comes. Needs kafka-clients and PostgreSQL's JDBC driver.
 *
 * <p>KAFKA_BROKERS, KAFKA_TOPIC, KAFKA_GROUP, and DATABASE_URL: jdbc:postgresql://host/database?user=..., with the tables of
 * inbox.sql.
 */
public final class OnceConsumer {
  /** The effect of an event, by the same transaction that remembers its id. */
  private static void handle(Connection connection, ConsumerRecord<String, String> record) throws SQLException {
    try (var insert = connection.prepareStatement("INSERT INTO effects (topic, value) VALUES (?, ?)")) {
      insert.setString(1, record.topic());
      insert.setString(2, record.value());
      insert.executeUpdate();
    }
  }

  private static void handleOnce(Connection connection, ConsumerRecord<String, String> record) throws SQLException {
    var header = record.headers().lastHeader("id");
    if (header == null) { // of somebody else, who writes to the topic as well: what it means is for you to say
      System.err.printf("no id: %s, partition %d, offset %d%n", record.topic(), record.partition(), record.offset());
      return;
    }
    String id = new String(header.value(), StandardCharsets.UTF_8);
    try (var insert = connection.prepareStatement("INSERT INTO inbox (id) VALUES (?) ON CONFLICT DO NOTHING")) {
      insert.setString(1, id);
      if (insert.executeUpdate() == 1) {
        handle(connection, record);
      }
      connection.commit();
    }
  }

  /** At SIGTERM and Ctrl-C: ends poll, and lets main close the consumer. */
  private static void stopAtSignal(KafkaConsumer<String, String> consumer) {
    var main = Thread.currentThread();
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  consumer.wakeup();
                  try {
                    main.join();
                  } catch (InterruptedException stopped) {
                    Thread.currentThread().interrupt();
                  }
                }));
  }

  public static void main(String[] arguments) throws SQLException {
    Map<String, Object> settings =
        Map.of(
            "bootstrap.servers", System.getenv("KAFKA_BROKERS"),
            "group.id", System.getenv("KAFKA_GROUP"),
            "auto.offset.reset", "earliest",
            "enable.auto.commit", "false",
            "key.deserializer", StringDeserializer.class,
            "value.deserializer", StringDeserializer.class);
    try (var connection = DriverManager.getConnection(System.getenv("DATABASE_URL"));
        var consumer = new KafkaConsumer<String, String>(settings)) {
      connection.setAutoCommit(false);
      stopAtSignal(consumer);
      consumer.subscribe(List.of(System.getenv("KAFKA_TOPIC")));
      while (true) {
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
          handleOnce(connection, record);
        }
        // Only of what has been handled; it may be late, since a repeat does no harm.
        consumer.commitAsync();
      }
    } catch (WakeupException stopped) {
      // The consumer is closed by now, and has left its group. Without that the partitions go to nobody for the
      // session's timeout, 45 seconds.
    }
  }
}
