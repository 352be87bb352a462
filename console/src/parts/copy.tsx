import { useEffect, useState } from 'preact/hooks';

const saidMs = 2_000;

/** Copies a text. `label` says which, for people who hear the page. */
export function Copy({ text, label }: { readonly text: string; readonly label: string }) {
  const [said, setSaid] = useState('');
  useEffect(() => {
    if (said === '') return undefined;
    const timer = setTimeout(() => setSaid(''), saidMs);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('Copied');
    } catch {
      // Without TLS there is no clipboard, and a browser may forbid it.
      setSaid('Not copied: select the text instead');
    }
  };
  return (
    <>
      <button type="button" class="copy" aria-label={`Copy ${label}`} onClick={() => void copy()}>
        Copy
      </button>
      <span class="quiet" role="status">
        {said}
      </span>
    </>
  );
}

/** A text to be taken elsewhere as it is. */
export function Snippet({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="snippet">
      <Copy text={text} label={label} />
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
    </div>
  );
}
