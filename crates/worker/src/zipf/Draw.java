// Draws from a generator of YCSB's own, and writes how often each number was drawn: 32 bits each,
// big-endian.
import site.ycsb.generator.*;

public class Draw {
  public static void main(String[] args) throws Exception {
    int items = Integer.parseInt(args[1]);
    NumberGenerator generator = switch (args[0]) {
      case "scrambled" -> new ScrambledZipfianGenerator(items);
      case "zipfian" -> new ZipfianGenerator(items);
      default -> new SkewedLatestGenerator(new CounterGenerator(items));
    };
    int[] counts = new int[items];
    for (long draws = Long.parseLong(args[2]); draws > 0; draws--) {
      counts[generator.nextValue().intValue()]++;
    }
    java.nio.ByteBuffer bytes = java.nio.ByteBuffer.allocate(4 * items);
    bytes.asIntBuffer().put(counts);
    System.out.write(bytes.array());
    System.out.flush();
  }
}
