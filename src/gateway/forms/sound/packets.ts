/** How long packets of sound play, by their own bytes. */

const SILK = [480, 960, 1_920, 2_880] as const
const CELT = [120, 240, 480, 960] as const
/** Rates of AAC by their index. Source: ISO/IEC 14496-3, 1.6.3.4. */
export const AAC_HZ = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
]
/** Of a packet of plain AAC. */
export const AAC_SAMPLES = 1_024
/** Low complexity, alone and with what doubles its rate and its channels. */
const PLAIN_AAC: ReadonlySet<number> = new Set([2, 5, 29])
/** No packet has more, at 48 kHz. */
const MOST_OPUS_SAMPLES = 5_760

/** The samples of a packet of Opus at 48 kHz. Source: RFC 6716, 3.1. */
export function opusSamples(bytes: Buffer, at: number): number {
  const head = bytes[at] ?? 0
  const configuration = head >> 3
  const samples =
    (configuration < 12
      ? SILK[configuration & 3]
      : configuration < 16
        ? SILK[configuration & 1]
        : CELT[configuration & 3]) ?? 0
  const code = head & 3
  const frames = code === 0 ? 1 : code === 3 ? (bytes[at + 1] ?? 0) & 0x3f : 2
  return Math.min(frames * samples, MOST_OPUS_SAMPLES)
}

/** The rate that a configuration of plain AAC says; 0: it is another, or says no usual rate. Source: ISO/IEC 14496-3, 1.6.2.1. */
export function aacHz(bytes: Buffer, at: number): number {
  if (at + 2 > bytes.length) return 0
  const bits = bytes.readUInt16BE(at)
  return PLAIN_AAC.has(bits >> 11) ? (AAC_HZ[(bits >> 7) & 0x0f] ?? 0) : 0
}

/**
 * The seconds that a packet of Vorbis has at least, in all but the most restless sound: half of a long block's. Its own
 * length takes tables of the decoder's to know. `ident`: where the stream's first packet begins. Source: Vorbis I, 4.2.2.
 */
export function vorbisSeconds(bytes: Buffer, ident: number): number {
  const hz = bytes.readUInt32LE(ident + 12)
  return hz === 0 ? 0 : 2 ** ((bytes[ident + 28] ?? 0) >> 4) / 4 / hz
}
