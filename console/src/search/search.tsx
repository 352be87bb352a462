import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLive } from '../api.js';
import { Note } from '../parts/parts.js';
import {
  type Entry,
  gather,
  inActivity,
  matching,
  namesOperation,
  operationsBy,
  pageEntries,
} from './gather.js';

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** A button and Ctrl-K, which open a search over everything that the token may read. */
export function Search() {
  const [isOpen, setOpen] = useState(false);
  // Listens as soon as the button is there: a key that comes right then must not be lost.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (
        event.key.toLowerCase() !== 'k' ||
        !(event.ctrlKey || event.metaKey) ||
        event.altKey ||
        event.shiftKey
      )
        return;
      event.preventDefault();
      // A question that waits for an answer comes first.
      if (document.querySelector('dialog[open]') === null) setOpen(true);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
  return (
    <>
      <button type="button" class="find" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Search <kbd>{isApple ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      {isOpen && <Dialog onClose={() => setOpen(false)} />}
    </>
  );
}

function Dialog({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useId();
  const [typed, setTyped] = useState('');
  const [active, setActive] = useState(0);
  const named = useLive('search', gather, 60_000);
  const text = typed.trim();
  const { operations, error = named.error } = useOperations(text);
  const { shown, count } = matching([...pageEntries(), ...(named.data ?? [])], typed);
  const isLoading = named.data === undefined && named.error === undefined;
  // While names are on their way, Enter would take what is typed for the id of a request.
  const all = [...shown, ...operations, ...(isLoading ? [] : inActivity(text))];
  const chosen = all[Math.min(active, all.length - 1)];
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [active, typed]);
  const isLeft = useRef(false);
  // The event of a close comes a frame later, perhaps after the next search was opened: so this does not wait for it, and acts once.
  const leave = (): void => {
    dialog.current?.close();
    if (!isLeft.current) onClose();
    isLeft.current = true;
  };
  const go = ({ href }: Entry): void => {
    location.hash = href;
    leave();
    document.querySelector('main')?.focus();
  };
  const moves: Readonly<Record<string, number>> = {
    ArrowDown: Math.min(active + 1, all.length - 1),
    ArrowUp: Math.max(active - 1, 0),
  };
  return (
    <dialog
      ref={dialog}
      class="search"
      aria-label="Search"
      onClose={leave}
      onCancel={(event) => (event.preventDefault(), leave())}
      onClick={({ target, currentTarget }) => target === currentTarget && leave()}
    >
      <input
        type="text"
        role="combobox"
        aria-label="Search for a paymaster, contract, policy, operation or account"
        aria-expanded={all.length > 0}
        aria-controls={all.length > 0 ? list : undefined}
        aria-autocomplete="list"
        {...(chosen && { 'aria-activedescendant': `${list}-${all.indexOf(chosen)}` })}
        placeholder="Name, address, operation hash or decision id"
        autocomplete="off"
        maxLength={200}
        value={typed}
        onInput={({ currentTarget }) => (setTyped(currentTarget.value), setActive(0))}
        onKeyDown={(event) => {
          const next = moves[event.key];
          if (next === undefined && (event.key !== 'Enter' || chosen === undefined)) return;
          event.preventDefault();
          if (next === undefined) go(chosen!);
          else setActive(next);
        }}
      />
      {error !== undefined && <Note kind="error">{error}</Note>}
      {all.length > 0 && (
        <ul id={list} role="listbox" aria-label="Results">
          {all.map((each, at) => (
            <li
              key={`${each.kind} ${each.href}`}
              id={`${list}-${at}`}
              role="option"
              aria-selected={each === chosen}
              onClick={() => go(each)}
            >
              <span class="quiet">{each.kind}</span> <b>{each.name}</b>{' '}
              <span class="quiet">{each.detail}</span>
            </li>
          ))}
        </ul>
      )}
      <p class="quiet" role="status">
        {describeResults(isLoading, all.length, count - shown.length)}
      </p>
    </dialog>
  );
}

function describeResults(isLoading: boolean, shown: number, more: number): string {
  if (isLoading) return 'Loading…';
  if (shown === 0) return 'Nothing that you may read has this name.';
  return `${shown} found${more > 0 ? `, and ${more} more: type on to see them` : ''}. Arrows choose, Enter opens, Escape closes.`;
}

/** Of a hash or an id, which the server looks for. */
function useOperations(text: string): { readonly operations: readonly Entry[]; readonly error?: string } {
  const [found, setFound] = useState<{ text: string; operations: readonly Entry[]; error?: string }>();
  useEffect(() => {
    if (!namesOperation(text)) return undefined;
    let isCurrent = true;
    operationsBy(text).then(
      (operations) => isCurrent && setFound({ text, operations }),
      ({ message }: Error) => isCurrent && setFound({ text, operations: [], error: message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [text]);
  return found?.text === text ? found : { operations: [] };
}
