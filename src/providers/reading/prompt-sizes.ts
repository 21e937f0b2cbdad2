/** Over these numbers of tokens prices change, at some model. */
const SIZES = [32_000, 100_000, 128_000, 200_000, 256_000, 272_000]

/** The largest of these numbers that a prompt has more tokens than; 0: none of them. Prompts of one size cost alike. */
export function promptSizeOf(tokens: number): number {
  return SIZES.findLast((above) => tokens > above) ?? 0
}
