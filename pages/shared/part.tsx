import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { Choices } from './address.ts'
import { type Known, useAnswer, useTools } from './context.tsx'

const EVERY_MS = 30_000

export interface PartProps<Data> {
  readonly title: string
  readonly path: string
  readonly choices?: Choices
  readonly everyMs?: number
  /** Beside the title. */
  readonly actions?: ComponentChildren
  readonly children: (data: Data, known: Known<Data>) => ComponentChildren
}

/** A card with one answer: it loads, fails and is asked again by itself, and the others stay as they are. */
export function Part<Data>({
  title,
  path,
  choices = {},
  everyMs = EVERY_MS,
  actions,
  children,
}: PartProps<Data>) {
  const known = useAnswer<Data>(path, choices, everyMs)
  return (
    <Card title={title} actions={actions} isBusy={known.isOld || known.data === null}>
      <Problem of={known.problem} />
      {known.data === null ? (
        known.problem === null && <p class="empty">Loading …</p>
      ) : (
        <div class={known.isOld ? 'old' : undefined}>{children(known.data, known)}</div>
      )}
    </Card>
  )
}

interface CardProps {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly isBusy?: boolean
  readonly children: ComponentChildren
}

export function Card({ title, actions, isBusy = false, children }: CardProps) {
  const id = useId()
  return (
    <section class="card" aria-labelledby={id} aria-busy={isBusy}>
      <div class="card-head">
        <h2 id={id}>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  )
}

function Problem({ of }: { readonly of: string | null }) {
  const { asker } = useTools()
  if (of === null) return null
  return (
    <p class="notice wrong" role="alert">
      {of} It is asked again.{' '}
      <button type="button" class="plain link" onClick={() => asker.wake()}>
        Ask now
      </button>
    </p>
  )
}

/** What is wider than the page scrolls in its own frame, by keyboard, too. */
export function Scroll({
  label,
  children,
}: {
  readonly label: string
  readonly children: ComponentChildren
}) {
  const frame = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    const observer = new ResizeObserver(() => {
      const attributes = { tabindex: '0', role: 'group', 'aria-label': label }
      for (const [name, value] of Object.entries(attributes))
        if (element.scrollWidth > element.clientWidth) element.setAttribute(name, value)
        else element.removeAttribute(name)
    })
    for (const one of [element, ...element.children]) observer.observe(one)
    return () => observer.disconnect()
  })
  return (
    <div class="table-frame" ref={frame}>
      {children}
    </div>
  )
}

/** A name from outside: it never changes the direction of what stands beside it. */
export function Name({ of, detail = '' }: { readonly of: string | null; readonly detail?: string }) {
  return (
    <>
      <bdi class="name">{of === null || of === '' ? '(none)' : of}</bdi>
      {detail !== '' && (
        <small class="belonging">
          <bdi>{detail}</bdi>
        </small>
      )}
    </>
  )
}

/** A part of a whole as a bar. */
export function Share({ of }: { readonly of: number }) {
  const width = `${Math.min(1, Math.max(0, of)) * 100}%`
  return <span class={of >= 1 ? 'share full' : 'share'} aria-hidden="true" style={{ width }} />
}
