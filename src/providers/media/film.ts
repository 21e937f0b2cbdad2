import type { BilledUnits } from '../../call/usage.ts'

/** The units of a film of so many milliseconds; none where that is not known. */
export function filmOf(videoMs: number | null): { readonly units?: Partial<BilledUnits> } {
  return videoMs === null ? {} : { units: { videoMs } }
}
