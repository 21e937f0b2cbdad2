/**
 * Loaded first (`--import`) into every process of a run whose clock is another one: moves `Date` by a constant number of
 * milliseconds. Timers and `performance` go on as they are. Children have it by NODE_OPTIONS.
 */
const offsetMs = Number(process.env.TEST_CLOCK_OFFSET_MS ?? 0)

if (offsetMs !== 0) {
  const RealDate = Date
  const realNow = RealDate.now
  const now = () => realNow() + offsetMs
  RealDate.now = now
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, values, made) =>
      Reflect.construct(target, values.length === 0 ? [now()] : values, made),
    apply: () => new RealDate(now()).toString(),
  })
  RealDate.prototype.constructor = globalThis.Date
}
