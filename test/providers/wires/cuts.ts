/** Every way a test hands bytes over: at once, cut in two at each place, byte by byte. */
export function* cuts(bytes: Uint8Array): Generator<readonly Uint8Array[]> {
  yield [bytes]
  for (let at = 0; at <= bytes.length; at += 1) yield [bytes.subarray(0, at), bytes.subarray(at)]
  yield Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
}

/** A copy of `chunk` that is wiped after `use`: a reader that kept a reference to borrowed bytes shows it. */
export function lend(chunk: Uint8Array, use: (borrowed: Buffer) => void): void {
  const borrowed = Buffer.from(chunk)
  use(borrowed)
  borrowed.fill(0x7e)
}
