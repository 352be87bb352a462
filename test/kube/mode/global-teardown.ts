/** Ends what the setup has started. */
export default async function stopKubernetesMode(): Promise<void> {
  await globalThis.stopKubernetesMode?.();
}
