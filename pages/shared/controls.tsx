import { useId } from 'preact/hooks'
import { titled } from './format.ts'

export interface Option {
  readonly value: string
  readonly label: string
}

/** `a_b` as an option that is called `A b`. */
export function optionOf(value: string): Option {
  return { value, label: titled(value) }
}

interface ChoiceProps {
  readonly label: string
  readonly options: readonly Option[]
  readonly chosen: string
  readonly onChoose: (value: string) => void
}

/** One of a few, all of them seen: native radio buttons, so arrow keys move the choice. */
export function Choice({ label, options, chosen, onChoose }: ChoiceProps) {
  const name = useId()
  return (
    <fieldset class="choice">
      <legend class="unseen">{label}</legend>
      {options.map((option) => (
        <label key={option.value}>
          <input
            type="radio"
            class="unseen"
            name={name}
            checked={option.value === chosen}
            onChange={() => onChoose(option.value)}
          />
          <span>{option.label}</span>
        </label>
      ))}
    </fieldset>
  )
}

/** One of many. */
export function Select({ label, options, chosen, onChoose }: ChoiceProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={chosen} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        {options.map(({ value, label: text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

interface FilterProps {
  readonly label: string
  readonly value: string
  readonly onChoose: (value: string) => void
}

/** A text that is taken with Enter, or when the field is left. */
export function Filter({ label, value, onChoose }: FilterProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        value={value}
        spellcheck={false}
        autocomplete="off"
        onChange={({ currentTarget }) => onChoose(currentTarget.value.trim())}
      />
    </div>
  )
}
