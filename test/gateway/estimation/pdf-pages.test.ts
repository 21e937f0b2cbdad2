import { deflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { pdfPages } from '../../../src/gateway/estimation/pdf-pages.ts'
import { readPrompt } from '../../../src/gateway/estimation/prompt-text.ts'

const pdf = (body: string | Buffer) => Buffer.concat([Buffer.from('%PDF-1.5\n'), Buffer.from(body)])
const pages = (count: number) =>
  '<< /Type /Pages /Count 9 >> '.concat('<< /Type /Page /Parent 1 0 R >> '.repeat(count))

test('the pages of a PDF are counted by its objects, also where these are compressed', () => {
  expect(pdfPages(pdf(pages(3)))).toBe(3)
  const objects = deflateSync(pages(4))
  const stream = Buffer.concat([
    Buffer.from(`1 0 obj << /Type /ObjStm /Length ${objects.length} >> stream\n`),
    objects,
    Buffer.from('\nendstream'),
  ])
  expect(pdfPages(pdf(stream))).toBe(4)
  expect(pdfPages(pdf('<< /Linearized 1 /L 900 /N 12 >>'))).toBe(12)
})

test('another file, and one that does not say, has no known pages, and what is made to break it breaks nothing', () => {
  for (const file of ['', 'hello', '<< /Type /Page >>']) expect(pdfPages(Buffer.from(file))).toBeNull()
  for (const body of ['', '/Type /Catalog', '/Type /ObjStm stream\nnot compressed'])
    expect(pdfPages(pdf(body))).toBeNull()
  expect(pdfPages(pdf('/Type /ObjStm stream\n'.repeat(100_000)))).toBeNull()
})

test('a document counts by its pages, one of text by its text, and one that is only named as one', () => {
  const inline = (mimeType: string, file: Buffer) =>
    readPrompt({ contents: [{ parts: [{ inlineData: { mimeType, data: file.toString('base64') } }] }] })
  expect(inline('application/pdf', pdf(pages(3)))).toMatchObject({ pages: 3, documents: 0 })
  const text = 'Lorem ipsum dolor sit amet.'
  expect(inline('text/plain', Buffer.from(text))).toMatchObject({ pages: 0, documents: 0, text })
  const named = { fileData: { mimeType: 'application/pdf', fileUri: 'https://example.com/v1beta/files/abc' } }
  expect(readPrompt({ contents: [{ parts: [named] }] })).toMatchObject({ pages: 0, documents: 1 })
})

test('thoughts that only their maker can read do not count as text', () => {
  const parts = [
    { text: 'Hi', thought_signature: 'x'.repeat(999) },
    { type: 'redacted_thinking', data: 'y'.repeat(999) },
  ]
  expect(readPrompt({ contents: [{ parts }] }).text).toBe('Hi')
})
