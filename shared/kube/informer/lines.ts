/** Bytes in whatever pieces they come -> whole lines of text. */

/** Empty lines are left out; a last line without its end is dropped: half an event is none. */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  // `stream` keeps the bytes of a character that is cut in two for the next piece.
  const decoder = new TextDecoder();
  let parts: string[] = [];
  for await (const chunk of chunks) {
    const pieces = decoder.decode(chunk, { stream: true }).split('\n');
    const last = pieces.pop() ?? '';
    for (const piece of pieces) {
      parts.push(piece);
      const line = parts.join('');
      parts = [];
      if (line !== '') yield line;
    }
    if (last !== '') parts.push(last);
  }
}
