/**
 * Loaded first (`--import`) into every process of a run whose clock is another one: moves `Date` by a constant number of
 * milliseconds. Timers and `performance` go on as they are. Children have it by NODE_OPTIONS. With TEST_CLOCK_MOVES the
 * test that started the process may set it on later: `TestProcess.moveClock`.
 */
let offsetMs = Number(process.env.TEST_CLOCK_OFFSET_MS ?? 0)

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
  if (process.env.TEST_CLOCK_MOVES !== undefined && process.channel !== undefined) {
    process.on('message', (message) => {
      if (typeof message?.clockOffsetMs !== 'number') return
      offsetMs = message.clockOffsetMs
      process.send(message)
    })
    // For good: from now on no listener of the channel keeps the process alive.
    process.channel.unref()
  }
}
