import { signal } from '@preact/signals';

/** Resources that a page wants replayed; the page of replays takes them. */
export const proposal = signal('');
