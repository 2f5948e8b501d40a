;;; shoal-modes.el --- modes for the languages that Shoal reads  -*- lexical-binding: t -*-

;; Made by `cargo xtask grammars` from the words of the front ends.

;;; Code:

(defvar shoal-murphi-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?- ". 12b" table)
    (modify-syntax-entry ?\n "> b" table)
    (modify-syntax-entry ?/ ". 14" table)
    (modify-syntax-entry ?* ". 23" table)
    table))

;;;###autoload
(define-derived-mode shoal-murphi-mode prog-mode "Murphi"
  "Major mode for Murphi."
  (setq-local comment-start "-- ")
  (setq-local font-lock-defaults
   (list (list
    (cons (regexp-opt '("assume" "const" "cover" "ctl" "externfun" "externproc" "fairness" "function" "invariant" "liveness" "ltl" "pctl" "procedure" "rule" "ruleset" "startstate" "type" "var") 'symbols) 'font-lock-keyword-face)
    (cons (regexp-opt '("alias" "assert" "begin" "by" "case" "choose" "clear" "do" "else" "elsif" "end" "endalias" "endchoose" "endexists" "endfor" "endforall" "endfunction" "endif" "endprocedure" "endrecord" "endrule" "endruleset" "endstartstate" "endswitch" "endwhile" "error" "for" "if" "put" "return" "switch" "then" "to" "undefine" "while") 'symbols) 'font-lock-keyword-face)
    (cons (regexp-opt '("always" "eventually" "exists" "forall" "next") 'symbols) 'font-lock-builtin-face)
    (cons (regexp-opt '("array" "boolean" "enum" "multiset" "of" "real" "record" "scalarset" "union") 'symbols) 'font-lock-type-face)
    (cons (regexp-opt '("false" "true" "undefined") 'symbols) 'font-lock-constant-face)
    (cons (regexp-opt '("ismember" "isundefined" "multisetadd" "multisetcount" "multisetremove" "multisetremovepred") 'symbols) 'font-lock-builtin-face))
    nil t)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.m\\'" . shoal-murphi-mode))

(defvar shoal-promela-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?/ ". 124b" table)
    (modify-syntax-entry ?* ". 23" table)
    (modify-syntax-entry ?\n "> b" table)
    table))

;;;###autoload
(define-derived-mode shoal-promela-mode prog-mode "Promela"
  "Major mode for Promela."
  (setq-local comment-start "// ")
  (setq-local font-lock-defaults
   (list (list
    (cons (regexp-opt '("D_proctype" "active" "c_code" "c_decl" "c_expr" "c_state" "c_track" "function" "init" "inline" "ltl" "never" "notrace" "proctype" "trace" "typedef") 'symbols) 'font-lock-keyword-face)
    (cons (regexp-opt '("assert" "atomic" "break" "d_step" "delete" "do" "else" "fi" "for" "goto" "if" "od" "printf" "printm" "priority" "provided" "return" "run" "select" "timeout" "unless" "xr" "xs" "new") 'symbols) 'font-lock-keyword-face)
    (cons (regexp-opt '("always" "eventually" "equivalent" "implies" "next" "release" "stronguntil" "until" "weakuntil" "U" "V" "W" "X" "in" "of") 'symbols) 'font-lock-builtin-face)
    (cons (regexp-opt '("bit" "bool" "byte" "chan" "ftype" "hidden" "int" "local" "mtype" "pid" "short" "show" "unsigned") 'symbols) 'font-lock-type-face)
    (cons (regexp-opt '("_last" "_nr_pr" "_pid" "_priority" "false" "np_" "null" "skip" "true") 'symbols) 'font-lock-constant-face)
    (cons (regexp-opt '("empty" "enabled" "eval" "full" "get_priority" "len" "nempty" "nfull" "pc_value" "set_priority") 'symbols) 'font-lock-builtin-face))
    nil nil)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.pml\\'" . shoal-promela-mode))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.prom\\'" . shoal-promela-mode))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.promela\\'" . shoal-promela-mode))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.prm\\'" . shoal-promela-mode))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.pr\\'" . shoal-promela-mode))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.pm\\'" . shoal-promela-mode))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.spin\\'" . shoal-promela-mode))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.dpml\\'" . shoal-promela-mode))

(defvar shoal-vpl-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?- ". 12b" table)
    (modify-syntax-entry ?\n "> b" table)
    (modify-syntax-entry ?/ ". 14" table)
    (modify-syntax-entry ?* ". 23" table)
    table))

;;;###autoload
(define-derived-mode shoal-vpl-mode prog-mode "VPL"
  "Major mode for VPL."
  (setq-local comment-start "-- ")
  (setq-local font-lock-defaults
   (list (list
    (cons (regexp-opt '("automata" "automaton" "clock" "invariant" "initially" "manipulation" "mode" "register" "verify") 'symbols) 'font-lock-keyword-face)
    (cons (regexp-opt '("do" "else" "for" "goto" "graph" "if" "may" "then" "to" "when") 'symbols) 'font-lock-keyword-face)
    (cons (regexp-opt '("all_paths" "and" "eventually" "exists" "exists_path" "forall" "henceforth" "implies" "not" "or" "until") 'symbols) 'font-lock-builtin-face)
    (cons (regexp-opt '("False" "True" "false" "true") 'symbols) 'font-lock-constant-face))
    nil nil)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.vpl\\'" . shoal-vpl-mode))

(defvar shoal-red-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?- ". 12b" table)
    (modify-syntax-entry ?\n "> b" table)
    (modify-syntax-entry ?/ ". 14" table)
    (modify-syntax-entry ?* ". 23" table)
    table))

;;;###autoload
(define-derived-mode shoal-red-mode prog-mode "Red"
  "Major mode for Red."
  (setq-local comment-start "-- ")
  (setq-local font-lock-defaults
   (list (list
    (cons (regexp-opt '("const" "global" "initially" "local" "mode" "process" "connectives" "safe") 'symbols) 'font-lock-keyword-face)
    (cons (regexp-opt '("goto" "may" "when" "but" "where" "free" "swap" "zero") 'symbols) 'font-lock-keyword-face)
    (cons (regexp-opt '("and" "exists" "forall" "implies" "not" "or") 'symbols) 'font-lock-builtin-face)
    (cons (regexp-opt '("discrete" "pointer" "short" "strict") 'symbols) 'font-lock-type-face)
    (cons (regexp-opt '("FALSE" "NULL" "P" "TRUE" "false" "true") 'symbols) 'font-lock-constant-face))
    nil nil)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.red\\'" . shoal-red-mode))

(defvar shoal-uppaal-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?/ ". 124b" table)
    (modify-syntax-entry ?* ". 23" table)
    (modify-syntax-entry ?\n "> b" table)
    table))

;;;###autoload
(define-derived-mode shoal-uppaal-mode prog-mode "UPPAAL"
  "Major mode for UPPAAL."
  (setq-local comment-start "// ")
  (setq-local font-lock-defaults
   (list (list
    (cons (regexp-opt '("IO" "after_update" "before_update" "branchpoint" "commit" "default" "gantt" "init" "priority" "process" "progress" "state" "system" "trans" "typedef") 'symbols) 'font-lock-keyword-face)
    (cons (regexp-opt '("assert" "assign" "break" "continue" "do" "else" "for" "guard" "if" "return" "select" "switch" "sync" "while" "probability") 'symbols) 'font-lock-keyword-face)
    (cons (regexp-opt '("and" "exists" "forall" "imply" "not" "or" "sum" "sup" "inf" "bounds") 'symbols) 'font-lock-builtin-face)
    (cons (regexp-opt '("bool" "broadcast" "chan" "clock" "const" "double" "hybrid" "int" "meta" "scalar" "string" "struct" "urgent" "void") 'symbols) 'font-lock-type-face)
    (cons (regexp-opt '("deadlock" "false" "true") 'symbols) 'font-lock-constant-face))
    nil nil)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.xta\\'" . shoal-uppaal-mode))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.q\\'" . shoal-uppaal-mode))

(defvar shoal-boolean-program-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?/ ". 124b" table)
    (modify-syntax-entry ?* ". 23" table)
    (modify-syntax-entry ?\n "> b" table)
    table))

;;;###autoload
(define-derived-mode shoal-boolean-program-mode prog-mode "Boolean program"
  "Major mode for Boolean program."
  (setq-local comment-start "// ")
  (setq-local font-lock-defaults
   (list (list
    (cons (regexp-opt '("decl" "thread_local" "void" "bool") 'symbols) 'font-lock-keyword-face)
    (cons (regexp-opt '("abortif" "assert" "assume" "atomic_begin" "atomic_end" "begin" "broadcast" "constrain" "dead" "dfs" "do" "else" "elsif" "end" "end_thread" "enforce" "fi" "goto" "if" "od" "return" "skip" "start_thread" "sync" "then" "wait" "while") 'symbols) 'font-lock-keyword-face)
    (cons (regexp-opt '("schoose") 'symbols) 'font-lock-builtin-face)
    (cons (regexp-opt '("F" "T") 'symbols) 'font-lock-constant-face))
    nil nil)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.bp\\'" . shoal-boolean-program-mode))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.nbp\\'" . shoal-boolean-program-mode))

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
   '((shoal-murphi-mode shoal-promela-mode shoal-vpl-mode shoal-red-mode shoal-uppaal-mode shoal-boolean-program-mode) . ("shoal" "lsp"))))

(provide 'shoal-modes)
;;; shoal-modes.el ends here
