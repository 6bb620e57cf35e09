/** How windows lie on an image, as JavaScript writes it down: one 32-bit integer each. Sizes count elements. */
@unmanaged
export class Geometry {
  inHeight: i32;
  inWidth: i32;
  channels: i32;
  outHeight: i32;
  outWidth: i32;
  outChannels: i32;
  height: i32;
  width: i32;
  strideHeight: i32;
  strideWidth: i32;
  top: i32;
  left: i32;

  /** Lines that any window sees, those outside of the image too. */
  get frameHeight(): i32 {
    return (this.outHeight - 1) * this.strideHeight + this.height;
  }

  get frameWidth(): i32 {
    return (this.outWidth - 1) * this.strideWidth + this.width;
  }

  /** Whether no window leaves the image: then it needs no frame. */
  get inside(): bool {
    return (
      this.top == 0 &&
      this.left == 0 &&
      this.frameHeight <= this.inHeight &&
      this.frameWidth <= this.inWidth
    );
  }

  /** Bytes of an input's image. */
  get imageBytes(): usize {
    return <usize>(this.inHeight * this.inWidth * this.channels) << 2;
  }

  /** Bytes of an image surrounded by zeros. */
  get frameBytes(): usize {
    return <usize>(this.frameHeight * this.frameWidth * this.channels) << 2;
  }

  /** Elements of a window's line. */
  get line(): i32 {
    return this.width * this.channels;
  }
}

/** Copies what windows see of an image into its frame; zeros outside. */
export function frame(image: usize, g: Geometry, out: usize): void {
  const pixel = <usize>g.channels << 2;
  const frameWidth = g.frameWidth;
  const first = min(max(g.left, 0), frameWidth);
  const end = max(min(g.inWidth + g.left, frameWidth), first);
  const before = <usize>first * pixel;
  const inside = <usize>(end - first) * pixel;
  const after = <usize>(frameWidth - end) * pixel;
  for (let y = 0; y < g.frameHeight; y++) {
    const source = y - g.top;
    if (source < 0 || source >= g.inHeight) {
      memory.fill(out, 0, before + inside + after);
    } else {
      memory.fill(out, 0, before);
      memory.copy(out + before, image + <usize>(source * g.inWidth + first - g.left) * pixel, inside);
      memory.fill(out + before + inside, 0, after);
    }
    out += before + inside + after;
  }
}

/** The reverse: copies the image out of its frame; what no window saw is zero. */
export function unframe(from: usize, g: Geometry, image: usize): void {
  const pixel = <usize>g.channels << 2;
  const frameWidth = g.frameWidth;
  const end = max(min(g.inWidth, frameWidth - g.left), 0);
  const first = min(max(-g.left, 0), end);
  for (let y = 0; y < g.inHeight; y++) {
    const source = y + g.top;
    const target = image + <usize>(y * g.inWidth) * pixel;
    if (source < 0 || source >= g.frameHeight) {
      memory.fill(target, 0, <usize>g.inWidth * pixel);
      continue;
    }
    memory.fill(target, 0, <usize>first * pixel);
    const line = from + <usize>(source * frameWidth + first + g.left) * pixel;
    memory.copy(target + <usize>first * pixel, line, <usize>(end - first) * pixel);
    memory.fill(target + <usize>end * pixel, 0, <usize>(g.inWidth - end) * pixel);
  }
}
