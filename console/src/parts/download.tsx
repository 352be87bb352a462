import { request, useAsked } from '../api.js';
import { Note } from './parts.js';

/** Saves a table of the API, which makes texts of what a spreadsheet would run. */
export function Download({
  path,
  file,
  label = 'Save as CSV',
}: {
  readonly path: () => string;
  readonly file: string;
  readonly label?: string;
}) {
  const { ask, error } = useAsked<void>();
  async function save(): Promise<void> {
    const response = await request(path(), { accept: 'text/csv' });
    const link = document.createElement('a');
    link.href = URL.createObjectURL(await response.blob());
    link.download = file;
    link.click();
    URL.revokeObjectURL(link.href);
  }
  return (
    <>
      {error !== undefined && <Note kind="error">{error.message}</Note>}
      <button type="button" onClick={() => void ask(save)}>
        {label}
      </button>
    </>
  );
}
