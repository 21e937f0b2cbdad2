/** When a fault was there, in milliseconds of this process's monotonic clock. */
export interface Injection {
  readonly fault: string
  readonly fromMs: number
  readonly toMs: number
}
