//! Cuts a stream of the Redis protocol (version 2 or 3) into requests or replies, without reading them.

/// A line of the protocol is a length, a number or a short text; a longer one is another protocol.
const MAX_LINE: usize = 64 * 1024;

/// One complete request or reply, exactly as it came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) bytes: Vec<u8>,
    /// Whether it takes part in the game of one reply for each request: a push message does not, nor do
    /// bytes of another protocol (TLS).
    pub(crate) counts: bool,
}

/// Collects bytes until a frame is complete.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    partial: Vec<u8>,
    /// Where the line being read starts.
    line: usize,
    /// How many bytes of a string are still to come, its line end included.
    skip: usize,
    /// How many elements each open aggregate still lacks.
    open: Vec<u64>,
    /// The stream is no Redis protocol: it is passed on as it comes.
    opaque: bool,
}

impl Frames {
    /// Takes the next bytes and gives the frames they complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        while !bytes.is_empty() {
            if self.opaque {
                self.partial.extend_from_slice(bytes);
                frames.push(Frame { bytes: std::mem::take(&mut self.partial), counts: false });
                break;
            }
            let complete = if self.skip > 0 {
                let taken = self.skip.min(bytes.len());
                bytes = self.take(bytes, taken);
                self.skip -= taken;
                self.line = self.partial.len();
                self.skip == 0 && self.end_element()
            } else {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                bytes = self.take(bytes, end.map_or(bytes.len(), |end| end + 1));
                let complete = end.is_some() && self.end_line();
                let too_long = self.partial.len() - self.line > MAX_LINE;
                self.opaque |=
                    too_long || self.partial.first().is_some_and(|first| !first.is_ascii_graphic());
                complete
            };
            if complete && !self.opaque {
                let bytes = std::mem::take(&mut self.partial);
                self.line = 0;
                frames.push(Frame { counts: !bytes.starts_with(b">"), bytes });
            }
        }
        if self.opaque && !self.partial.is_empty() {
            frames.push(Frame { bytes: std::mem::take(&mut self.partial), counts: false });
        }
        frames
    }

    fn take<'a>(&mut self, bytes: &'a [u8], count: usize) -> &'a [u8] {
        let (taken, rest) = bytes.split_at(count);
        self.partial.extend_from_slice(taken);
        rest
    }

    /// Reads the line just completed; tells whether the frame is complete with it.
    fn end_line(&mut self) -> bool {
        let line = &self.partial[self.line..];
        let (kind, rest) = line.split_first().map_or((0, line), |(kind, rest)| (*kind, rest));
        let count = std::str::from_utf8(rest).ok().and_then(|text| text.trim_end().parse::<i64>().ok());
        self.line = self.partial.len();
        match (kind, count) {
            (b'$' | b'=' | b'!', Some(-1)) => self.end_element(),
            (b'$' | b'=' | b'!', Some(length)) => {
                match usize::try_from(length) {
                    Ok(length) => self.skip = length + 2,
                    Err(_) => self.opaque = true,
                }
                false
            }
            (b'*' | b'~' | b'>' | b'%', Some(count)) => {
                let factor = if kind == b'%' { 2 } else { 1 };
                match u64::try_from(count) {
                    Ok(count) if count > 0 => {
                        self.open.push(count.saturating_mul(factor));
                        false
                    }
                    _ => self.end_element(),
                }
            }
            (b'$' | b'=' | b'!' | b'*' | b'~' | b'>' | b'%', None) => {
                self.opaque = true;
                false
            }
            // A status, number or error; or, as a request, a command in plain words.
            _ => self.end_element(),
        }
    }

    fn end_element(&mut self) -> bool {
        while let Some(missing) = self.open.last_mut() {
            *missing -= 1;
            if *missing > 0 {
                return false;
            }
            self.open.pop();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(frames: Vec<Frame>) -> Vec<String> {
        frames.into_iter().map(|frame| String::from_utf8(frame.bytes).unwrap()).collect()
    }

    #[test]
    fn frames_are_cut_where_they_end_however_the_bytes_arrive() {
        let parts = [
            "*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n",
            "+OK\r\n",
            "$-1\r\n",
            "*-1\r\n",
            "*0\r\n",
            "$0\r\n\r\n",
            "*2\r\n*1\r\n:1\r\n*2\r\n$1\r\nx\r\n_\r\n",
            "%1\r\n+k\r\n*1\r\n#t\r\n",
            "PING\r\n",
        ];
        let stream = parts.concat();
        for size in 1..stream.len() {
            let mut frames = Frames::default();
            let found: Vec<Frame> =
                stream.as_bytes().chunks(size).flat_map(|chunk| frames.feed(chunk)).collect();
            assert!(found.iter().all(|frame| frame.counts));
            assert_eq!(texts(found), parts, "in pieces of {size}");
        }
    }

    #[test]
    fn a_push_message_is_no_reply() {
        let found = Frames::default().feed(b">2\r\n+message\r\n+hello\r\n+OK\r\n");
        assert_eq!(found.iter().map(|frame| frame.counts).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn another_protocol_passes_untouched() {
        let stream = [22, 3, 1, 2, b'\n', 0, 1, 22];
        for size in 1..=stream.len() {
            let mut frames = Frames::default();
            let found: Vec<Frame> = stream.chunks(size).flat_map(|chunk| frames.feed(chunk)).collect();
            assert!(found.iter().all(|frame| !frame.counts));
            assert_eq!(found.concat_bytes(), stream);
        }
        let mut frames = Frames::default();
        assert_eq!(frames.feed(b"*x\r\n+OK\r\n").concat_bytes(), b"*x\r\n+OK\r\n");
    }

    trait ConcatBytes {
        fn concat_bytes(&self) -> Vec<u8>;
    }

    impl ConcatBytes for Vec<Frame> {
        fn concat_bytes(&self) -> Vec<u8> {
            self.iter().flat_map(|frame| frame.bytes.clone()).collect()
        }
    }
}
