/** Without what a terminal would act on. Line breaks and tabs stay. */
export const plainText = (text: string): string =>
  text.replaceAll(/(?![\n\t])[\p{Cc}\p{Cf}]/gu, ' ');
