import { signal } from '@preact/signals';

/** Resources that a page wants judged; the page What-if takes them. */
export const proposal = signal('');
