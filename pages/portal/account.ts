import { signal } from '@preact/signals'
import { useAnswer } from '../shared/context.tsx'
import type { OwnAccount } from './answers.ts'

/** Whose figures these are, and what a member may do; `null` until it is known. */
export const account = signal<OwnAccount | null>(null)

const EVERY_MS = 60_000

/** Asks for it while a view is seen: what a member may do can change. */
export function useAccount(): void {
  const { data } = useAnswer<OwnAccount>('account', {}, EVERY_MS)
  if (data !== null) account.value = data
}
