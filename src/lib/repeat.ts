/** Runs `task` every `intervalMs`, first at once, never twice at a time, until stopped. It must not reject. */
export function repeat(task: () => Promise<void>, intervalMs: number): { stop(): Promise<void> } {
  let timer: NodeJS.Timeout | null = null
  let stopped = false
  let running = Promise.resolve()
  const run = async (): Promise<void> => {
    await task()
    if (!stopped) timer = setTimeout(start, intervalMs)
  }
  const start = (): void => {
    running = run()
  }
  start()
  return {
    async stop() {
      stopped = true
      if (timer !== null) clearTimeout(timer)
      await running
    },
  }
}
