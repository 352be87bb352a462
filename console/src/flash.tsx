import { signal } from '@preact/signals';
import { Note } from './parts/parts.js';
import { route } from './route.js';

const flash = signal<{ readonly href: string; readonly text: string } | undefined>(undefined);

/** Leads to a page, which says there what was done: the form that did it is gone. */
export function leaveTo(href: string, text: string): void {
  flash.value = { href, text };
  location.hash = href;
}

export function Flash() {
  // Reading it has this drawn again when the page changes, and the note goes.
  void route.value;
  const { value } = flash;
  return value?.href === location.hash ? <Note kind="done">{value.text}</Note> : null;
}
