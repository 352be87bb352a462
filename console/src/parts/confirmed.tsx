import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { route } from '../route.js';
import type { Change } from './form.js';

type Question = {
  readonly title: string;
  /** What will happen. */
  readonly says: string;
  /** The text of the button that agrees. */
  readonly button: string;
};

type Asked = Question & {
  /** The key of its dialog. The browser reports a close late, perhaps after the next question was asked. */
  readonly nth: number;
  readonly answer: (isYes: boolean) => void;
};

const asked = signal<Asked | undefined>(undefined);
let count = 0;

/** Asks before something ends, or before more is paid for. False: it must not happen. */
export function confirmed(question: Question): Promise<boolean> {
  return new Promise((resolve) => {
    const nth = (count += 1);
    const answer = (isYes: boolean): void => {
      if (asked.peek()?.nth === nth) asked.value = undefined;
      resolve(isYes);
    };
    asked.value = { ...question, nth, answer };
  });
}

/** A change that happens only once somebody has agreed to it. */
export function ifSure(question: Question, change: Change): Change {
  return async () => ((await confirmed(question)) ? change() : undefined);
}

/** Where {@link confirmed} asks. Escape, and leaving the page, mean no. */
export function Confirmation() {
  const dialog = useRef<HTMLDialogElement>(null);
  const question = asked.value;
  const { page, id } = route.value;
  useEffect(() => dialog.current?.showModal(), [question]);
  useEffect(() => () => asked.peek()?.answer(false), [page, id]);
  if (question === undefined) return null;
  const { title, says, button, nth, answer } = question;
  return (
    <dialog
      key={nth}
      ref={dialog}
      role="alertdialog"
      aria-labelledby="asked"
      aria-describedby="said"
      // Closing gives the focus back to what opened it. Its event comes a frame later, in which a key would be lost: so each way to close
      // answers at once.
      onCancel={(event) => {
        event.preventDefault();
        event.currentTarget.close();
        answer(false);
      }}
      onClose={() => answer(false)}
    >
      <h2 id="asked">{title}</h2>
      <p id="said">{says}</p>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          dialog.current?.close();
          answer((event.submitter as HTMLButtonElement).value === 'yes');
        }}
      >
        <button value="no">Cancel</button>
        <button value="yes" class="danger">
          {button}
        </button>
      </form>
    </dialog>
  );
}
