import type { Receipt, SignedReceipt } from './receipt-document.ts'

/** What a statement is made of, of each call: all that a release may not write in another way later. */
export type CountedReceipt = Pick<
  Receipt,
  'call_id' | 'arrived_at' | 'model' | 'status' | 'outcome' | 'usage_source' | 'usage' | 'cost_usd'
>

export function leafText(receipt: CountedReceipt): string {
  const { call_id, arrived_at, model, status, outcome, usage_source, usage, cost_usd } = receipt
  return JSON.stringify([call_id, arrived_at, model, status, outcome, usage_source, usage, cost_usd])
}

/** The text that is signed. */
export function receiptText({ signature, public_key, inclusion, ...receipt }: SignedReceipt): string {
  return JSON.stringify(receipt)
}
