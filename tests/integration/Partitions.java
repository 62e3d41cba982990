// The partitions that Kafka's own Java client chooses: arguments are the number of partitions, then keys in UTF-8.

import java.nio.charset.StandardCharsets;
import org.apache.kafka.common.utils.Utils;

public class Partitions {
  public static void main(String[] arguments) {
    int partitions = Integer.parseInt(arguments[0]);
    for (int i = 1; i < arguments.length; i++) {
      System.out.println(Utils.toPositive(Utils.murmur2(arguments[i].getBytes(StandardCharsets.UTF_8))) % partitions);
    }
  }
}
