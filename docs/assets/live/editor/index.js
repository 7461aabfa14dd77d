import { a as editorFromPlaceholder, c as numLines, n as createEditor, s as languageMap } from "./core-BIWFpCIO.js";
export { createEditor, editorFromPlaceholder, languageMap, numLines };
