import { expect, test } from 'vitest'
import { formBoundary, MultipartFields, readPartHead } from '../../../src/gateway/forms/multipart-fields.ts'
import { threadMs } from '../../support/patience.ts'

const MODEL = field('model', 'whisper-1')
const FILE = part('Content-Disposition: form-data; name="file"; filename="a.wav"', 'RIFF\r\n\0--x')

function part(head: string, content: string): string {
  return `--x-y\r\n${head}\r\n\r\n${content}\r\n`
}

function field(name: string, value: string): string {
  return part(`Content-Disposition: form-data; name="${name}"`, value)
}

function read(form: string, pieceBytes = form.length): MultipartFields {
  const fields = new MultipartFields('x-y')
  const bytes = Buffer.from(form, 'latin1')
  for (let at = 0; at < bytes.length; at += pieceBytes) fields.push(bytes.subarray(at, at + pieceBytes))
  return fields
}

function fields({ readable, model, stream, sawFile, isOver, duplicateModel }: MultipartFields) {
  return { readable, model, stream, sawFile, isOver, duplicateModel }
}

test('a form’s fields are read, in whatever pieces it comes', () => {
  const form = `${field('prompt', 'model')}${MODEL}${field('stream', 'true')}${FILE}--x-y--\r\n`
  for (let bytes = 1; bytes <= form.length; bytes++) {
    expect([bytes, fields(read(form, bytes))]).toEqual([
      bytes,
      {
        readable: true,
        model: 'whisper-1',
        stream: true,
        sawFile: true,
        isOver: true,
        duplicateModel: false,
      },
    ])
  }
})

test('a field is known when its part has ended, before the rest came', () => {
  expect(read(`${MODEL}--x-y\r\nContent-Dis`)).toMatchObject({ model: 'whisper-1', isOver: false })
  expect(read(MODEL)).toMatchObject({ model: null, readable: true })
  expect(read(`${FILE}${MODEL}--x-y--`)).toMatchObject({ model: 'whisper-1', sawFile: true })
})

test.each([
  ['text before the first boundary', `preamble\r\n${MODEL}--x-y--`],
  ['JSON in place of a form', '{"model":"gpt-4o"}'],
  ['text behind the form', `${MODEL}--x-y--\r\n${MODEL}`],
  [
    'a boundary that a line feed alone precedes',
    `${MODEL}${part('Content-Disposition: form-data; name="f"; filename="a"', `a\n${MODEL}`)}--x-y--`,
  ],
  ['a boundary inside of a line', `${field('prompt', 'a--x-y\r\n')}${MODEL}--x-y--`],
  ['a longer boundary', `${MODEL}--x-yz\r\n`],
  ['white space behind a boundary', `${MODEL}--x-y \r\n`],
  ['a model with a file name', part('Content-Disposition: form-data; name="model"; filename="a"', 'gpt-4o')],
  ['headers that do not end', `--x-y\r\nContent-Disposition: form-data; name="${'x'.repeat(9000)}`],
])('%s makes a form not readable, and its model unknown', (_what, form) => {
  for (const bytes of [1, 7, form.length]) {
    expect(read(form, bytes)).toMatchObject({ readable: false, model: null })
  }
})

test.each([
  [`${MODEL}${field('model', 'gpt-4o')}`],
  [`${MODEL}${field('Model', 'gpt-4o')}`],
  [`${field('model[]', 'gpt-4o')}${MODEL}`],
  [`${MODEL}${FILE}${field('model', 'whisper-1')}`],
])('a model that a form names twice is not read: %j', (form) => {
  expect(read(`${form}--x-y--`)).toMatchObject({ model: null, duplicateModel: true })
})

test('a form of more than 1,000 parts is not read beyond them', () => {
  const part = field('x', '')
  const most = read(`${MODEL}${part.repeat(999)}--x-y--`)
  expect(most).toMatchObject({ readable: true, model: 'whisper-1', hasTooManyParts: false })
  const begun: string[] = []
  const fields = new MultipartFields('x-y', {
    begin: ({ name }) => begun.push(name),
    bytes: () => {},
    end: () => {},
  })
  fields.push(Buffer.from(`${MODEL}${part.repeat(5_000)}--x-y--`))
  expect(fields).toMatchObject({ readable: false, model: null, hasTooManyParts: true })
  expect(begun).toHaveLength(1_000)
})

test('line ends behind a form do not belong to it', () => {
  expect(read(`${MODEL}--x-y--\r\n\r\n `, 1)).toMatchObject({ readable: true, model: 'whisper-1' })
})

test('a model of more than 1 KiB is none', () => {
  expect(read(`${field('model', 'x'.repeat(1024))}--x-y--`).model).toHaveLength(1024)
  expect(read(`${field('model', 'x'.repeat(1025))}--x-y--`).model).toBeNull()
})

test('the headers that clients write are understood', () => {
  const file = { name: 'file', isFile: true }
  const disposition = 'Content-Disposition: form-data; '
  // undici and browsers, Go, OkHttp, .NET, Python's requests with a name beyond ASCII.
  expect(readPartHead(`${disposition}name="file"; filename="a%22b.wav"\r\nContent-Type: audio/wav`)).toEqual(
    file,
  )
  expect(readPartHead(`${disposition}name="file"; filename="a\\\\b.wav"`)).toEqual(file)
  expect(
    readPartHead(`${disposition}name="file"; filename="a"\r\nContent-Transfer-Encoding: binary`),
  ).toEqual(file)
  expect(readPartHead(`${disposition}name=file; filename=a.wav; filename*=utf-8''a.wav`)).toEqual(file)
  expect(readPartHead(`content-disposition:form-data;name="file";filename*=utf-8''%C3%A9`)).toEqual(file)
  expect(readPartHead(`${disposition}name=model\r\nContent-Type: text/plain; charset=utf-8`)).toEqual({
    name: 'model',
    isFile: false,
  })
})

test.each([
  'Content-Type: text/plain',
  'Content-Disposition: attachment; name="model"',
  'Content-Disposition: form-data',
  'Content-Disposition: form-data; name="a"; name="model"',
  'Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="model"',
  'Content-Disposition: form-data;\r\n name="model"',
  'Content-Disposition: form-data; name="a"\n; name="model"',
  'Content-Disposition: form-data; name="mod\\el"',
  'Content-Disposition: form-data; name="mod%65l"',
  "Content-Disposition: form-data; name*=utf-8''model",
  'Content-Disposition: form-data; filename="a\\"; name="model"',
  'Content-Disposition: form-data; name="f"; filename="a\\"; name=\\"model\\""',
  'Content-Disposition: form-data; name="model',
  'Content-Disposition: form-data; name="a" name="model"',
  'Content-Disposition: form-data; name="model"\r\nContent-Transfer-Encoding: base64',
])('headers of a part that servers could read differently are not read: %j', (head) => {
  expect(readPartHead(head)).toBeNull()
})

test.each([
  ['multipart/form-data; boundary=abc', 'abc'],
  ['Multipart/Form-Data;BOUNDARY="a b:c"', 'a b:c'],
  ['multipart/form-data; charset=utf-8; boundary=----WebKitFormBoundary7MA4', '----WebKitFormBoundary7MA4'],
  ['multipart/form-data', null],
  ['multipart/form-data; boundary=', null],
  ['multipart/form-data; boundary=a; boundary=b', null],
  ['multipart/form-data; boundary="a\\"b"', null],
  ["multipart/form-data; boundary*=utf-8''a", null],
  ['multipart/form-data; boundary=a;', null],
  ['multipart/form-data; boundary=a, multipart/form-data; boundary=b', null],
  [`multipart/form-data; boundary=${'a'.repeat(71)}`, null],
  ['multipart/x; boundary=a', null],
  ['application/json; boundary=a', null],
])('the boundary in %j is %j', (contentType, boundary) => {
  expect(formBoundary(contentType)).toBe(boundary)
})

test.each([
  ['a header', `x:${' '.repeat(8_000)}\nx`],
  ['a disposition', `content-disposition: form-data; name=a${' '.repeat(8_000)}x`],
])('%s of spaces takes no time that others would wait for', (_, head) => {
  // The shortest of some: garbage is collected now and then.
  const times = Array.from({ length: 20 }, () => {
    const before = threadMs()
    expect(readPartHead(head)).toBeNull()
    return threadMs() - before
  })
  expect(Math.min(...times)).toBeLessThan(20)
})
