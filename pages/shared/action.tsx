import type { ComponentChildren } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { type Choices, withChoices } from './address.ts'
import { NotSignedIn, sentenceOf } from './asker.ts'
import { useTools } from './context.tsx'
import type { Option } from './controls.tsx'

export interface FormField {
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly value?: string
  readonly isRequired?: boolean
  /** Absent: any text. */
  readonly options?: readonly Option[]
  /** What is sent for the text; absent: the text itself, and nothing for an empty one. */
  readonly read?: (text: string) => unknown
}

interface ActionProps<Answer> {
  /** The button that opens it, and the title. */
  readonly label: string
  /** A GET changes nothing, and its fields are its query. */
  readonly method?: 'POST' | 'PUT' | 'DELETE' | 'GET'
  readonly path: string
  readonly fields?: readonly FormField[]
  /** What is sent whatever the fields say. */
  readonly fixed?: object
  /** What it does, said before it is done. */
  readonly says: ComponentChildren
  /** What cannot be undone stands out. */
  readonly isGrave?: boolean
  /** What is shown of the answer until it is closed; absent: it closes by itself. */
  readonly shows?: (answer: Answer) => ComponentChildren
  /** Told of the answer. */
  readonly onDone?: (answer: Answer) => void
  readonly isMain?: boolean
}

/** A change, asked for in a dialog of the browser's own: it keeps the focus, and Escape leaves it. */
export function Action<Answer>(given: ActionProps<Answer>) {
  const asked = useRef(given)
  const { api, asker } = useTools()
  const dialog = useRef<HTMLDialogElement>(null)
  const [state, setState] = useState<{
    isOpen: boolean
    isUnderWay: boolean
    problem: string
    answer?: Answer
  }>(CLOSED)
  // Rows move while it is open: it stays about what it was opened for.
  if (!state.isOpen || aboutOf(given) === aboutOf(asked.current)) asked.current = given
  const { label, method = 'POST', path, fields = [], fixed, says, isGrave, shows, onDone } = asked.current
  const open = () => {
    setState({ ...CLOSED, isOpen: true })
    dialog.current?.showModal()
  }
  async function send(form: HTMLFormElement): Promise<void> {
    setState({ ...CLOSED, isOpen: true, isUnderWay: true })
    try {
      const said = { ...fixed, ...bodyOf(form, fields) }
      const isQuery = method === 'GET'
      const answer = (await api.change(
        method,
        isQuery ? withChoices(path, said as Choices) : path,
        isQuery || Object.keys(said).length === 0 ? undefined : said,
      )) as Answer
      if (!isQuery) asker.wake()
      onDone?.(answer)
      if (shows === undefined) dialog.current?.close()
      else setState({ ...CLOSED, isOpen: true, answer })
    } catch (error) {
      const problem = error instanceof NotSignedIn ? 'The sign-in has ended.' : sentenceOf(error)
      setState({ ...CLOSED, isOpen: true, problem })
    }
  }
  const { isOpen, isUnderWay, problem, answer } = state
  return (
    <>
      <button type="button" class={given.isMain === true ? 'main' : 'plain link'} onClick={open}>
        {given.label}
      </button>
      <dialog ref={dialog} aria-label={label} onClose={() => setState(CLOSED)}>
        {isOpen && (
          <form
            class="form"
            onSubmit={(event) => {
              event.preventDefault()
              void send(event.currentTarget)
            }}
          >
            <h2>{label}</h2>
            {answer !== undefined ? (
              <div class="answer">{shows?.(answer)}</div>
            ) : (
              <>
                <p>{says}</p>
                {fields.map((field) => (
                  <Field key={field.name} field={field} />
                ))}
              </>
            )}
            {problem !== '' && (
              <p class="problem" role="alert">
                {problem}
              </p>
            )}
            <p class="buttons">
              <button type="button" onClick={() => dialog.current?.close()}>
                {answer === undefined ? 'Cancel' : 'Close'}
              </button>
              {answer === undefined && (
                <button type="submit" class={isGrave === true ? 'main grave' : 'main'} disabled={isUnderWay}>
                  {label}
                </button>
              )}
            </p>
          </form>
        )}
      </dialog>
    </>
  )
}

function aboutOf<Answer>({ method, path, fixed }: ActionProps<Answer>): string {
  return JSON.stringify([method, path, fixed])
}

const CLOSED = { isOpen: false, isUnderWay: false, problem: '' }

function bodyOf(form: HTMLFormElement, fields: readonly FormField[]): Record<string, unknown> {
  const given = new FormData(form)
  const said = fields.flatMap(({ name, read }): [string, unknown][] => {
    const text = `${given.get(name) ?? ''}`.trim()
    return text === '' ? [] : [[name, read === undefined ? text : read(text)]]
  })
  return Object.fromEntries(said)
}

function Field({ field: { name, label, hint, value, isRequired, options } }: { readonly field: FormField }) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>
        {label} {hint !== undefined && <small class="quiet">· {hint}</small>}
      </label>
      {options === undefined ? (
        <input
          id={id}
          name={name}
          defaultValue={value}
          required={isRequired}
          spellcheck={false}
          autocomplete="off"
        />
      ) : (
        <select id={id} name={name}>
          {options.map((option) => (
            <option key={option.value} value={option.value} selected={option.value === value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </div>
  )
}

/** A secret that is shown this once. */
export function Secret({ what, of }: { readonly what: string; readonly of: string }) {
  const [isCopied, setCopied] = useState(false)
  const text = useRef<HTMLElement>(null)
  async function copy(): Promise<void> {
    if (text.current !== null) getSelection()?.selectAllChildren(text.current)
    // A page without TLS may not write to the clipboard; then the text is selected.
    await navigator.clipboard?.writeText(of)
    setCopied(navigator.clipboard !== undefined)
  }
  return (
    <>
      <p>{what} It is shown this once: copy it now.</p>
      <p class="secret">
        <code ref={text}>{of}</code>
        <button type="button" class="main" onClick={() => void copy()}>
          Copy
        </button>
      </p>
      <p class="quiet" role="status">
        {isCopied ? 'Copied.' : ''}
      </p>
    </>
  )
}
