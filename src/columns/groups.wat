;; Functions that find the groups of a summary for a run of slots, and compute their figures. The number of a slot is the group of
;; its row. A bitmap has one bit for each slot. If a slot's bit is not set, its number and codes may be anything. The least
;; integer means no value.
(module
  (import "" "memory" (memory 1 65536))

  ;; Multiplies a slot's number by the factor, and adds `own`, the slot's number by one key.
  (func $setNumber (param $numbers i32) (param $factor i32) (param $own i32)
    (i32.store
      (local.get $numbers)
      (i32.add (i32.mul (i32.load (local.get $numbers)) (local.get $factor)) (local.get $own))))

  ;; Combines each slot's number with its number by a key: the code minus `before`. If this difference, as an unsigned integer, is
  ;; not less than `size`, the number by the key is 0. This includes the code of no value.
  (func (export "key32")
    (param $column i32) (param $slots i32) (param $numbers i32) (param $factor i32) (param $before i32) (param $size i32)
    (local $end i32) (local $own i32)
    (local.set $end (i32.add (local.get $column) (i32.shl (local.get $slots) (i32.const 2))))
    (loop $next
      (local.set $own (i32.sub (i32.load (local.get $column)) (local.get $before)))
      (call $setNumber
        (local.get $numbers)
        (local.get $factor)
        (select (local.get $own) (i32.const 0) (i32.lt_u (local.get $own) (local.get $size))))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 4)))
      (local.set $column (i32.add (local.get $column) (i32.const 4)))
      (br_if $next (i32.ne (local.get $column) (local.get $end)))))

  ;; Combines each slot's number with its number by a key, as key32 does, for codes of 64 bits.
  (func (export "key64")
    (param $column i32) (param $slots i32) (param $numbers i32) (param $factor i32) (param $before i64) (param $size i32)
    (local $end i32) (local $own i64)
    (local.set $end (i32.add (local.get $column) (i32.shl (local.get $slots) (i32.const 3))))
    (loop $next
      (local.set $own (i64.sub (i64.load (local.get $column)) (local.get $before)))
      (call $setNumber
        (local.get $numbers)
        (local.get $factor)
        (select
          (i32.wrap_i64 (local.get $own))
          (i32.const 0)
          (i64.lt_u (local.get $own) (i64.extend_i32_u (local.get $size)))))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 4)))
      (local.set $column (i32.add (local.get $column) (i32.const 8)))
      (br_if $next (i32.ne (local.get $column) (local.get $end)))))

  ;; Returns the number of the period that contains a date or an instant, from a table that has the number of each day's period.
  ;; The day is the distance of the code from the middle of the first day, divided by the number of codes in a day, and rounded.
  ;; To round it, 1.5 * 2^52 is added: then the lowest bits of the float are the integer.
  (func $periodOf
    (param $code f64) (param $middle f64) (param $inverse f64) (param $table i32) (param $days i32) (result i32)
    (local $day i32)
    (local.set $day
      (i32.wrap_i64
        (i64.reinterpret_f64
          (f64.add
            (f64.mul (f64.sub (local.get $code) (local.get $middle)) (local.get $inverse))
            (f64.const 0x1.8p+52)))))
    ;; A slot whose bit is not set may have a day outside the table.
    (if (result i32) (i32.lt_u (local.get $day) (local.get $days))
      (then (i32.load (i32.add (local.get $table) (i32.shl (local.get $day) (i32.const 2)))))
      (else (i32.const 0))))

  ;; Combines each slot's number with the number of its period.
  (func (export "period32")
    (param $column i32) (param $slots i32) (param $numbers i32) (param $factor i32)
    (param $middle f64) (param $inverse f64) (param $table i32) (param $days i32)
    (local $end i32) (local $code i32) (local $own i32)
    (local.set $end (i32.add (local.get $column) (i32.shl (local.get $slots) (i32.const 2))))
    (loop $next
      (local.set $code (i32.load (local.get $column)))
      (local.set $own (i32.const 0))
      (if (i32.ne (local.get $code) (i32.const 0x80000000))
        (then
          (local.set $own
            (call $periodOf
              (f64.convert_i32_s (local.get $code))
              (local.get $middle) (local.get $inverse) (local.get $table) (local.get $days)))))
      (call $setNumber (local.get $numbers) (local.get $factor) (local.get $own))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 4)))
      (local.set $column (i32.add (local.get $column) (i32.const 4)))
      (br_if $next (i32.ne (local.get $column) (local.get $end)))))

  ;; Combines each slot's number with the number of its period, as period32 does, for codes of 64 bits.
  (func (export "period64")
    (param $column i32) (param $slots i32) (param $numbers i32) (param $factor i32)
    (param $middle f64) (param $inverse f64) (param $table i32) (param $days i32)
    (local $end i32) (local $code i64) (local $own i32)
    (local.set $end (i32.add (local.get $column) (i32.shl (local.get $slots) (i32.const 3))))
    (loop $next
      (local.set $code (i64.load (local.get $column)))
      (local.set $own (i32.const 0))
      (if (i64.ne (local.get $code) (i64.const 0x8000000000000000))
        (then
          (local.set $own
            (call $periodOf
              (f64.convert_i64_s (local.get $code))
              (local.get $middle) (local.get $inverse) (local.get $table) (local.get $days)))))
      (call $setNumber (local.get $numbers) (local.get $factor) (local.get $own))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 4)))
      (local.set $column (i32.add (local.get $column) (i32.const 8)))
      (br_if $next (i32.ne (local.get $column) (local.get $end)))))

  ;; Returns the number of a period in a time zone. The table has two integers for each span of 2^$shift seconds: the number of
  ;; the period at the start of the span, and the seconds from there to the start of the next period. The second integer is
  ;; 2^$shift if no period starts in the span. No two periods start in the same span.
  (func $zonedOf (param $span i32) (param $within i32) (param $table i32) (result i32)
    (local $entry i32)
    (local.set $entry (i32.add (local.get $table) (i32.shl (local.get $span) (i32.const 3))))
    (i32.load
      (i32.add
        (local.get $entry)
        (i32.shl (i32.ge_u (local.get $within) (i32.load offset=4 (local.get $entry))) (i32.const 3)))))

  ;; Combines each slot's number with the number of its period in a time zone. `own` is the code minus `least`, in seconds. If
  ;; this difference, as an unsigned integer, is not less than `seconds`, the number of the period is 0. This includes the code of
  ;; no value.
  (func (export "zoned32")
    (param $column i32) (param $slots i32) (param $numbers i32) (param $factor i32)
    (param $least i32) (param $seconds i32) (param $shift i32) (param $table i32)
    (local $end i32) (local $own i32) (local $mask i32)
    (local.set $end (i32.add (local.get $column) (i32.shl (local.get $slots) (i32.const 2))))
    (local.set $mask (i32.sub (i32.shl (i32.const 1) (local.get $shift)) (i32.const 1)))
    (loop $next
      (local.set $own (i32.sub (i32.load (local.get $column)) (local.get $least)))
      (if (i32.lt_u (local.get $own) (local.get $seconds))
        (then
          (local.set $own
            (call $zonedOf
              (i32.shr_u (local.get $own) (local.get $shift))
              (i32.and (local.get $own) (local.get $mask))
              (local.get $table))))
        (else (local.set $own (i32.const 0))))
      (call $setNumber (local.get $numbers) (local.get $factor) (local.get $own))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 4)))
      (local.set $column (i32.add (local.get $column) (i32.const 4)))
      (br_if $next (i32.ne (local.get $column) (local.get $end)))))

  ;; Combines each slot's number with the number of its period in a time zone, as zoned32 does, for codes of 64 bits.
  (func (export "zoned64")
    (param $column i32) (param $slots i32) (param $numbers i32) (param $factor i32)
    (param $least i64) (param $seconds i64) (param $shift i32) (param $table i32)
    (local $end i32) (local $code i64) (local $own i32) (local $mask i32)
    (local.set $end (i32.add (local.get $column) (i32.shl (local.get $slots) (i32.const 3))))
    (local.set $mask (i32.sub (i32.shl (i32.const 1) (local.get $shift)) (i32.const 1)))
    (loop $next
      (local.set $code (i64.sub (i64.load (local.get $column)) (local.get $least)))
      (local.set $own (i32.const 0))
      (if (i64.lt_u (local.get $code) (local.get $seconds))
        (then
          (local.set $own
            (call $zonedOf
              (i32.wrap_i64 (i64.shr_u (local.get $code) (i64.extend_i32_u (local.get $shift))))
              (i32.and (i32.wrap_i64 (local.get $code)) (local.get $mask))
              (local.get $table)))))
      (call $setNumber (local.get $numbers) (local.get $factor) (local.get $own))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 4)))
      (local.set $column (i32.add (local.get $column) (i32.const 8)))
      (br_if $next (i32.ne (local.get $column) (local.get $end)))))

  ;; Returns the code of a slot in a column of 32 bits, as 64 bits.
  (func $narrowCode (param $column i32) (param $slot i32) (result i64)
    (local $code i32)
    (local.set $code (i32.load (i32.add (local.get $column) (i32.shl (local.get $slot) (i32.const 2)))))
    (select
      (i64.const 0x8000000000000000)
      (i64.extend_i32_s (local.get $code))
      (i32.eq (local.get $code) (i32.const 0x80000000))))

  (func $wideCode (param $column i32) (param $slot i32) (result i64)
    (i64.load (i32.add (local.get $column) (i32.shl (local.get $slot) (i32.const 3)))))

  ;; Returns the address of the record of a slot's group. A record has `length` bytes.
  (func $recordOf (param $numbers i32) (param $slot i32) (param $records i32) (param $length i32) (result i32)
    (i32.add
      (local.get $records)
      (i32.mul
        (i32.load (i32.add (local.get $numbers) (i32.shl (local.get $slot) (i32.const 2))))
        (local.get $length))))

  (func $countRow (param $record i32)
    (i32.store (local.get $record) (i32.add (i32.load (local.get $record)) (i32.const 1))))

  (func $addRow (param $record i32) (param $code i64) (param $one i32) (param $value i32) (param $sum i32)
    (i32.store (local.get $record) (i32.add (i32.load (local.get $record)) (local.get $one)))
    (if (i64.ne (local.get $code) (i64.const 0x8000000000000000))
      (then
        (local.set $value (i32.add (local.get $record) (local.get $value)))
        (i32.store (local.get $value) (i32.add (i32.load (local.get $value)) (i32.const 1)))
        (local.set $sum (i32.add (local.get $record) (local.get $sum)))
        (i64.store (local.get $sum) (i64.add (i64.load (local.get $sum)) (local.get $code))))))

  (func $boundRow (param $record i32) (param $code i64) (param $isLeast i32)
    (local.set $code (i64.sub (local.get $code) (i64.extend_i32_u (local.get $isLeast))))
    (if (i32.eq (i64.lt_s (local.get $code) (i64.load (local.get $record))) (local.get $isLeast))
      (then (i64.store (local.get $record) (local.get $code)))))

  ;; Counts the rows in a bitmap: adds 1 at the start of the record of each row's group.
  (func (export "count")
    (param $bits i32) (param $bytes i32) (param $numbers i32) (param $records i32) (param $length i32)
    (local $end i32) (local $left i64) (local $slot i32)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (loop $next
      (local.set $left (i64.load (local.get $bits)))
      (block $done
        (loop $bit
          (br_if $done (i64.eqz (local.get $left)))
          (local.set $slot (i32.wrap_i64 (i64.ctz (local.get $left))))
          (local.set $left (i64.and (local.get $left) (i64.sub (local.get $left) (i64.const 1))))
          (call $countRow (call $recordOf (local.get $numbers) (local.get $slot) (local.get $records) (local.get $length)))
          (br $bit)))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 256)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next (i32.ne (local.get $bits) (local.get $end)))))

  ;; Adds the code of each row in a bitmap to the record of its group. A value is added at the offset `sum`, and counted at the
  ;; offset `value`. `one`, which is 0 or 1, is added at the start of the record, even if the row has no value.
  (func (export "add32")
    (param $bits i32) (param $bytes i32) (param $numbers i32) (param $column i32) (param $records i32) (param $length i32)
    (param $one i32) (param $value i32) (param $sum i32)
    (local $end i32) (local $left i64) (local $slot i32)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (loop $next
      (local.set $left (i64.load (local.get $bits)))
      (block $done
        (loop $bit
          (br_if $done (i64.eqz (local.get $left)))
          (local.set $slot (i32.wrap_i64 (i64.ctz (local.get $left))))
          (local.set $left (i64.and (local.get $left) (i64.sub (local.get $left) (i64.const 1))))
          (call $addRow
            (call $recordOf (local.get $numbers) (local.get $slot) (local.get $records) (local.get $length))
            (call $narrowCode (local.get $column) (local.get $slot))
            (local.get $one) (local.get $value) (local.get $sum))
          (br $bit)))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 256)))
      (local.set $column (i32.add (local.get $column) (i32.const 256)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next (i32.ne (local.get $bits) (local.get $end)))))

  ;; Adds the code of each row in a bitmap to the record of its group, as add32 does, for codes of 64 bits.
  (func (export "add64")
    (param $bits i32) (param $bytes i32) (param $numbers i32) (param $column i32) (param $records i32) (param $length i32)
    (param $one i32) (param $value i32) (param $sum i32)
    (local $end i32) (local $left i64) (local $slot i32)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (loop $next
      (local.set $left (i64.load (local.get $bits)))
      (block $done
        (loop $bit
          (br_if $done (i64.eqz (local.get $left)))
          (local.set $slot (i32.wrap_i64 (i64.ctz (local.get $left))))
          (local.set $left (i64.and (local.get $left) (i64.sub (local.get $left) (i64.const 1))))
          (call $addRow
            (call $recordOf (local.get $numbers) (local.get $slot) (local.get $records) (local.get $length))
            (call $wideCode (local.get $column) (local.get $slot))
            (local.get $one) (local.get $value) (local.get $sum))
          (br $bit)))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 256)))
      (local.set $column (i32.add (local.get $column) (i32.const 512)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next (i32.ne (local.get $bits) (local.get $end)))))

  ;; Stores the greatest code of each group's rows in a record of 64 bits. If `isLeast` is 1, stores the least code minus 1
  ;; instead: the code of no value, minus 1, is the greatest integer.
  (func (export "extreme32")
    (param $bits i32) (param $bytes i32) (param $numbers i32) (param $column i32) (param $records i32) (param $isLeast i32)
    (local $end i32) (local $left i64) (local $slot i32)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (loop $next
      (local.set $left (i64.load (local.get $bits)))
      (block $done
        (loop $bit
          (br_if $done (i64.eqz (local.get $left)))
          (local.set $slot (i32.wrap_i64 (i64.ctz (local.get $left))))
          (local.set $left (i64.and (local.get $left) (i64.sub (local.get $left) (i64.const 1))))
          (call $boundRow
            (call $recordOf (local.get $numbers) (local.get $slot) (local.get $records) (i32.const 8))
            (call $narrowCode (local.get $column) (local.get $slot))
            (local.get $isLeast))
          (br $bit)))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 256)))
      (local.set $column (i32.add (local.get $column) (i32.const 256)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next (i32.ne (local.get $bits) (local.get $end)))))

  ;; Stores the greatest or least code of each group's rows, as extreme32 does, for codes of 64 bits.
  (func (export "extreme64")
    (param $bits i32) (param $bytes i32) (param $numbers i32) (param $column i32) (param $records i32) (param $isLeast i32)
    (local $end i32) (local $left i64) (local $slot i32)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (loop $next
      (local.set $left (i64.load (local.get $bits)))
      (block $done
        (loop $bit
          (br_if $done (i64.eqz (local.get $left)))
          (local.set $slot (i32.wrap_i64 (i64.ctz (local.get $left))))
          (local.set $left (i64.and (local.get $left) (i64.sub (local.get $left) (i64.const 1))))
          (call $boundRow
            (call $recordOf (local.get $numbers) (local.get $slot) (local.get $records) (i32.const 8))
            (call $wideCode (local.get $column) (local.get $slot))
            (local.get $isLeast))
          (br $bit)))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 256)))
      (local.set $column (i32.add (local.get $column) (i32.const 512)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next (i32.ne (local.get $bits) (local.get $end)))))

  ;; Stores the code of one row of each group, an integer of 32 bits, in the record of the group.
  (func (export "keep32")
    (param $bits i32) (param $bytes i32) (param $numbers i32) (param $column i32) (param $records i32) (param $length i32)
    (local $end i32) (local $left i64) (local $slot i32)
    (local.set $end (i32.add (local.get $bits) (local.get $bytes)))
    (loop $next
      (local.set $left (i64.load (local.get $bits)))
      (block $done
        (loop $bit
          (br_if $done (i64.eqz (local.get $left)))
          (local.set $slot (i32.wrap_i64 (i64.ctz (local.get $left))))
          (local.set $left (i64.and (local.get $left) (i64.sub (local.get $left) (i64.const 1))))
          (i32.store
            (call $recordOf (local.get $numbers) (local.get $slot) (local.get $records) (local.get $length))
            (i32.load (i32.add (local.get $column) (i32.shl (local.get $slot) (i32.const 2)))))
          (br $bit)))
      (local.set $numbers (i32.add (local.get $numbers) (i32.const 256)))
      (local.set $column (i32.add (local.get $column) (i32.const 256)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 8)))
      (br_if $next (i32.ne (local.get $bits) (local.get $end)))))

  ;; Writes for each slot the index at which lookUp32 and lookUp64 read: the code of 32 bits minus the base, or `none` if this
  ;; difference, as an unsigned integer, is not less than `size`.
  (func (export "place32")
    (param $column i32) (param $slots i32) (param $base i32) (param $size i32) (param $none i32) (param $to i32)
    (local $end i32) (local $place i32)
    (local.set $end (i32.add (local.get $column) (i32.shl (local.get $slots) (i32.const 2))))
    (loop $next
      (local.set $place (i32.sub (i32.load (local.get $column)) (local.get $base)))
      (i32.store
        (local.get $to)
        (select (local.get $place) (local.get $none) (i32.lt_u (local.get $place) (local.get $size))))
      (local.set $to (i32.add (local.get $to) (i32.const 4)))
      (local.set $column (i32.add (local.get $column) (i32.const 4)))
      (br_if $next (i32.ne (local.get $column) (local.get $end)))))

  ;; Writes for each slot the index at which lookUp32 and lookUp64 read, as place32 does, for codes of 64 bits.
  (func (export "place64")
    (param $column i32) (param $slots i32) (param $base i64) (param $size i32) (param $none i32) (param $to i32)
    (local $end i32) (local $place i64)
    (local.set $end (i32.add (local.get $column) (i32.shl (local.get $slots) (i32.const 3))))
    (loop $next
      (local.set $place (i64.sub (i64.load (local.get $column)) (local.get $base)))
      (i32.store
        (local.get $to)
        (select
          (i32.wrap_i64 (local.get $place))
          (local.get $none)
          (i64.lt_u (local.get $place) (i64.extend_i32_u (local.get $size)))))
      (local.set $to (i32.add (local.get $to) (i32.const 4)))
      (local.set $column (i32.add (local.get $column) (i32.const 8)))
      (br_if $next (i32.ne (local.get $column) (local.get $end)))))

  ;; Writes for each slot the code of 32 bits at the slot's index in `places`.
  (func (export "lookUp32") (param $places i32) (param $slots i32) (param $codes i32) (param $to i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $places) (i32.shl (local.get $slots) (i32.const 2))))
    (loop $next
      (i32.store
        (local.get $to)
        (i32.load (i32.add (local.get $codes) (i32.shl (i32.load (local.get $places)) (i32.const 2)))))
      (local.set $to (i32.add (local.get $to) (i32.const 4)))
      (local.set $places (i32.add (local.get $places) (i32.const 4)))
      (br_if $next (i32.ne (local.get $places) (local.get $end)))))

  ;; Writes for each slot the code of 64 bits at the slot's index in `places`.
  (func (export "lookUp64") (param $places i32) (param $slots i32) (param $codes i32) (param $to i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $places) (i32.shl (local.get $slots) (i32.const 2))))
    (loop $next
      (i64.store
        (local.get $to)
        (i64.load (i32.add (local.get $codes) (i32.shl (i32.load (local.get $places)) (i32.const 3)))))
      (local.set $to (i32.add (local.get $to) (i32.const 8)))
      (local.set $places (i32.add (local.get $places) (i32.const 4)))
      (br_if $next (i32.ne (local.get $places) (local.get $end)))))
)
