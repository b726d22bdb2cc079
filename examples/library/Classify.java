import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Reads a digit with the example's model as a library, through JNI.
 *
 * <pre>
 * javac -h . Classify.java
 * cc -shared -fPIC -Ilib -I$JAVA_HOME/include -I$JAVA_HOME/include/linux classify_jni.c -Llib -lresnet18_digits \
 *    -Wl,-rpath,lib -o libclassify_jni.so
 * java -Djava.library.path=. Classify lib/resnet18_digits.weights image.f32
 * </pre>
 */
public final class Classify implements AutoCloseable {
  static {
    System.loadLibrary("classify_jni");
  }

  private long model; // addresses of the library's model and context
  private long context;

  /** Throws IllegalStateException with the library's message. */
  public Classify(String weights, int threads) {
    create(weights, threads);
  }

  /** The memory of direct buffers is used as it is: of 1024 floats, and of 10. */
  public native void run(ByteBuffer image, ByteBuffer logits);

  @Override
  public native void close();

  private native void create(String weights, int threads);

  public static void main(String[] files) throws IOException {
    ByteBuffer image = buffer(32 * 32);
    ByteBuffer logits = buffer(10);
    image.put(Files.readAllBytes(Path.of(files[1])));
    try (Classify model = new Classify(files[0], 1)) {
      model.run(image, logits);
    }
    int best = 0;
    for (int i = 1; i < 10; i++) {
      if (logits.getFloat(4 * i) > logits.getFloat(4 * best)) {
        best = i;
      }
    }
    System.out.println(best);
  }

  private static ByteBuffer buffer(int floats) {
    return ByteBuffer.allocateDirect(4 * floats).order(ByteOrder.nativeOrder());
  }
}
