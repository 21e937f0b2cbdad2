import type { ComponentChildren } from 'preact'
import { choose } from './context.tsx'
import { type FileColumn, tableText } from './csv.ts'
import { Scroll } from './part.tsx'

export interface Column<Row> extends FileColumn<Row> {
  readonly cell: (row: Row) => ComponentChildren
  /** What the server sorts by it; absent: it does not. */
  readonly sort?: string
  readonly title?: (row: Row) => string
  /** `text` stands at the left; `extra` is left out where there is no room; `none` is in the file alone. */
  readonly kind?: 'text' | 'extra' | 'main' | 'none'
}

interface TableProps<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** What is said where there are none. */
  readonly empty: string
  /** As the server sorted; the order is chosen in the address, by `sort` and `order`. */
  readonly sorted?: { readonly by: string; readonly order: string }
  /** The cursor of the rows behind these; the page is chosen in the address, by `cursor`. */
  readonly next?: string | null
  /** The name of the file; absent: there is none. */
  readonly file?: string
}

/** Rows as the server sorted and cut them. The first column names a row. */
export function Table<Row>({ label, columns, rows, empty, sorted, next = null, file }: TableProps<Row>) {
  if (rows.length === 0) return <p class="empty">{empty}</p>
  const shown = columns.filter(({ kind }) => kind !== 'none')
  const [first, ...others] = shown
  if (first === undefined) return null
  return (
    <>
      <Scroll label={label}>
        <table>
          <thead>
            <tr>
              {shown.map((column) => (
                <Heading key={column.heading} column={column} sorted={sorted} />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>
                <th scope="row">{first.cell(row)}</th>
                {others.map((column) => (
                  <td key={column.heading} class={column.kind} title={column.title?.(row)}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {(next !== null || file !== undefined) && (
        <p class="below">
          {next !== null && (
            <button type="button" class="plain link" onClick={() => choose({ cursor: next })}>
              Next {rows.length} rows
            </button>
          )}
          {file !== undefined && <Download file={file} text={() => tableText(columns, rows)} />}
        </p>
      )}
    </>
  )
}

interface HeadingProps<Row> {
  readonly column: Column<Row>
  readonly sorted: { readonly by: string; readonly order: string } | undefined
}

function Heading<Row>({ column: { heading, sort, kind }, sorted }: HeadingProps<Row>) {
  if (sort === undefined || sorted === undefined)
    return (
      <th scope="col" class={kind}>
        {heading}
      </th>
    )
  const isSorted = sorted.by === sort
  const isDown = sorted.order !== 'asc'
  return (
    <th scope="col" class={kind} aria-sort={isSorted ? (isDown ? 'descending' : 'ascending') : 'none'}>
      <button
        type="button"
        class="plain sort"
        onClick={() => choose({ sort, order: isSorted && isDown ? 'asc' : 'desc' })}
      >
        {heading}
      </button>
    </th>
  )
}

function Download({ file, text }: { readonly file: string; readonly text: () => string }) {
  return (
    <button
      type="button"
      class="plain link"
      onClick={() => save(file, new Blob([text()], { type: 'text/csv;charset=utf-8' }))}
    >
      Download CSV
    </button>
  )
}

/** Gives the browser a file to save. */
export function save(name: string, content: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
