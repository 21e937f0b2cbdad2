import type { z } from 'zod'
import { shownCount, shownDocument, shownList, shownText, shownTextOrNull } from '../operations/answers.ts'
import { RECEIPT } from '../usage/calls/call-operations.ts'

/** That a statement was made of a receipt too. */
const INCLUSION = shownDocument('Inclusion', {
  month: shownText('The month of the statement, YYYY-MM.'),
  place: shownCount('Its place among the receipts of the statement, from 0.'),
  count: shownCount('How many these are.'),
  path: shownList(shownText('A SHA-256 in hex.'), 'The hashes beside the way to the root, the lowest first.'),
})

export type Inclusion = z.output<typeof INCLUSION>

/** A receipt as its client keeps it. What is signed is the receipt without these fields, as JSON without spaces. */
export const SIGNED_RECEIPT = shownDocument('Receipt', {
  ...RECEIPT.shape,
  signature: shownTextOrNull('Ed25519, of the fields before this one as JSON without spaces, in base64.'),
  public_key: shownTextOrNull('The key of that signature, in base64.'),
  inclusion: INCLUSION.nullable().describe(
    'How it is included in the statement of its month. null: that is not closed, or was closed without it.',
  ),
})

export type SignedReceipt = z.output<typeof SIGNED_RECEIPT>
export type Receipt = z.output<typeof RECEIPT>
