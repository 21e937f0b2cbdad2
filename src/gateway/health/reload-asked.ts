import type { ProcessReport } from '../../store/processes/process-report.ts'

/** An operator's wish that this process reads its configuration again, and what came of the last one. */
export class ReloadAsked {
  #read: () => string | null = () => 'it is not ready yet'
  #said: ProcessReport['reload'] = null

  /** `null`: it was never asked. */
  get said(): ProcessReport['reload'] {
    return this.#said
  }

  /** @param read Gives why the configuration cannot be read; `null`: it was. */
  carryOutBy(read: () => string | null): void {
    this.#read = read
  }

  carryOut(askedAtMs: number): void {
    this.#said = { askedAtMs, problem: this.#read() }
  }
}
