import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { isUsdText, parseUsdText } from '../domain/pico-usd.ts'
import { hashLeaf, rootBy } from './merkle-tree.ts'
import { SIGNED_RECEIPT, type SignedReceipt } from './receipt-document.ts'
import { leafText, receiptText } from './receipt-text.ts'
import { isSignedText } from './signed-statement.ts'
import { roundToCents } from './statement.ts'
import { STATED, type StatedMonth, type StatementDocument } from './statement-document.ts'

/** `null`: the text is none that `statement show` writes, however it is laid out. */
export function parseStatementFile(text: string): StatedMonth | null {
  return parseFile(text, STATED)
}

/** `null`: the text is none that `GET /v1/usage/calls/{id}` answers, however it is laid out. */
export function parseReceiptFile(text: string): SignedReceipt | null {
  return parseFile(text, SIGNED_RECEIPT)
}

function parseFile<Form extends z.ZodType>(text: string, form: Form): z.output<Form> | null {
  try {
    const value: unknown = JSON.parse(text)
    // Else people would read what is not checked: of two members of one name only the last is.
    if (withoutLayout(text) !== JSON.stringify(value)) return null
    return form.safeParse(value).data ?? null
  } catch {
    return null
  }
}

/** The same JSON without spaces, each text in one form. */
function withoutLayout(text: string): string {
  return text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|\s+/g, (part) =>
    part.startsWith('"') ? JSON.stringify(JSON.parse(part)) : '',
  )
}

/** The 32 bytes of a public key that a person gave in base64. `null`: it is none. */
export function parsePublicKey(text: string): Buffer | null {
  const key = Buffer.from(text, 'base64')
  return key.length === 32 ? key : null
}

/**
 * What is wrong with a statement, in sentences, by the file alone; none: it is what was signed, and adds up.
 *
 * @param expectedKey `null`: the key that is in the file, which shows only that the file is whole.
 */
export function checkStatement(file: StatedMonth, expectedKey: Buffer | null): readonly string[] {
  const { statement, provisional, sha256, signature, public_key: ownKey } = file
  if (sha256 === null || signature === null || ownKey === null)
    return ['The statement is not closed, so that it has no signature.', ...wrongSums(statement)]
  const document = JSON.stringify(statement)
  const problems: string[] = []
  if (createHash('sha256').update(document).digest('hex') !== sha256)
    problems.push('The statement does not have the hash beside it.')
  const signed = { document, signature: bytesOf(signature), publicKey: bytesOf(ownKey) }
  if (!isSignedText(signed)) problems.push('The statement does not have the signature beside it.')
  if (expectedKey !== null && !expectedKey.equals(signed.publicKey))
    problems.push('The statement is signed with another key than the expected one.')
  if (provisional.length > 0) problems.push('The statement is closed, but the file calls it provisional.')
  return [...problems, ...wrongSums(statement)]
}

/**
 * What is wrong with a receipt beside its statement, in sentences; none: it was signed, and the statement is made of
 * it too.
 *
 * @param expectedKey `null`: the key of the statement.
 */
export function checkReceipt(
  receipt: SignedReceipt,
  { statement, public_key: stated }: StatedMonth,
  expectedKey: Buffer | null,
): readonly string[] {
  const { signature, public_key: ownKey, inclusion, components, cost_usd: cost, call_id: id } = receipt
  const problems: string[] = []
  const signed = {
    document: receiptText(receipt),
    signature: bytesOf(signature ?? ''),
    publicKey: bytesOf(ownKey ?? ''),
  }
  if (!isSignedText(signed)) problems.push(`The receipt ${id} does not have the signature beside it.`)
  if (!(expectedKey ?? bytesOf(stated ?? '')).equals(signed.publicKey))
    problems.push(`The receipt ${id} is signed with another key than the expected one.`)
  // In an altered receipt they may be any text.
  const amounts = components.map(({ amount_usd }) => amount_usd)
  const areAmounts = [cost ?? '0', ...amounts].every(isUsdText)
  if (!areAmounts || sumOf(amounts) !== parseUsdText(cost ?? '0'))
    problems.push(`The lines of the receipt ${id} do not add up to its cost.`)
  if (!receipt.arrived_at.startsWith(`${statement.month}-`))
    return [...problems, `The receipt ${id} is of another month than the statement.`]
  if (statement.receipts === undefined)
    return [...problems, 'The statement is of version 1, which does not say of which receipts it is made.']
  if (inclusion === null) return [...problems, `${MISSING} ${id}: it has no inclusion. ${ASK_AGAIN}`]
  const path = inclusion.path.map((hash) => Buffer.from(hash, 'hex'))
  const root = rootBy(hashLeaf(leafText(receipt)), inclusion.place, inclusion.count, path)
  const isIncluded =
    inclusion.month === statement.month &&
    inclusion.count === statement.receipts?.count &&
    inclusion.path.every((hash) => /^[0-9a-f]{64}$/.test(hash)) &&
    root?.toString('hex') === statement.receipts.root
  return isIncluded ? problems : [...problems, `${MISSING} ${id}: its inclusion does not give the root.`]
}

const MISSING = 'The statement is not made of the receipt'
const ASK_AGAIN = 'Ask for it again when the month is closed. If it has none then, it was left out.'

/** None where the text is not the base64 that was written: decoders pass over what they do not know. */
function bytesOf(base64: string): Buffer {
  const bytes = Buffer.from(base64, 'base64')
  return bytes.toString('base64') === base64 ? bytes : Buffer.alloc(0)
}

function sumOf(amounts: readonly string[]): bigint {
  return amounts.reduce((all, amount) => all + parseUsdText(amount), 0n)
}

function wrongSums({
  lines,
  corrections,
  charges = [],
  carried,
  cost_usd,
  charges_usd = '0',
  total_usd,
  rounded_usd,
}: StatementDocument): string[] {
  const sum = (amounts: readonly { readonly amount_usd: string }[]) =>
    sumOf(amounts.map(({ amount_usd }) => amount_usd))
  const costPico = sum(lines) + sum(corrections)
  const chargesPico = sum(charges)
  const totalPico = costPico + chargesPico + sum(carried)
  const wrong: string[] = []
  if (costPico !== parseUsdText(cost_usd)) wrong.push('Its lines and corrections do not add up to its cost.')
  if (chargesPico !== parseUsdText(charges_usd)) wrong.push('Its charges do not add up to their sum.')
  if (totalPico !== parseUsdText(total_usd)) wrong.push('Its parts do not add up to its total.')
  if (roundToCents(totalPico) !== parseUsdText(rounded_usd)) wrong.push('Its total is not rounded to cents.')
  return wrong
}
